package query

// cell is what the blocks of one stack and one label sum up to. The label tells groups of blocks apart.
type cell struct {
	stack, label uint32
	Values
}

// cells finds cells.
type cells struct {
	list   []cell
	places places // number in list plus 1
}

// at returns the cell of a stack and a label; it is valid until the next call.
func (c *cells) at(stack, label uint32) *cell {
	p := c.places.at(stack, label)
	if *p == 0 {
		c.list = append(c.list, cell{stack: stack, label: label})
		*p = uint32(len(c.list))
	}
	return &c.list[*p-1]
}

// index finds cells of a list that has come about otherwise.
func (c *cells) index() {
	c.places = places{}
	for i := range c.list {
		*c.places.at(c.list[i].stack, c.list[i].label) = uint32(i + 1)
	}
}

// places keeps a number for each stack and label: 0 at first.
type places struct {
	dense []uint32 // by stack, of label 0
	far   map[uint64]*uint32
}

// maxDense is how far stacks are found through an array.
const maxDense = 1 << 22

// at returns where the number of a stack and a label is kept; it is valid until the next call.
func (p *places) at(stack, label uint32) *uint32 {
	if label == 0 && stack < maxDense {
		if n := uint32(len(p.dense)); stack >= n {
			p.dense = append(p.dense, make([]uint32, max(stack+1-n, n, 256))...)
		}
		return &p.dense[stack]
	}
	k := uint64(label)<<32 | uint64(stack)
	v := p.far[k]
	if v == nil {
		if p.far == nil {
			p.far = make(map[uint64]*uint32)
		}
		v = new(uint32)
		p.far[k] = v
	}
	return v
}
