package elfx

// CallFrames is a file's call frame information.
type CallFrames struct {
	Data []byte // of .eh_frame; nil: there is none
	Addr uint64 // of Data
}

// CallFrames returns the file's call frame information.
func (f *File) CallFrames() (CallFrames, error) {
	const name = ".eh_frame"
	list := f.find(name)
	if len(list) == 0 {
		return CallFrames{}, nil
	}
	data, err := f.Section(name)
	return CallFrames{data, list[0].Addr}, err
}
