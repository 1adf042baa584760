package run

// Prune removes all but the latest runs of a list that List made, or with dry only says which it would remove. It
// returns those, and why others could not be removed. Only runs of this user that have ended and have the name that
// heaptap gives count and are removed.
func Prune(list []Entry, keep int, dry bool) (gone []Entry, failed []error) {
	for _, e := range list {
		switch {
		case !e.Ours || !e.Default():
			continue
		case keep > 0:
			keep--
			continue
		case e.Live:
			continue
		}
		if !dry {
			if err := e.Discard(); err != nil {
				failed = append(failed, err)
				continue
			}
		}
		gone = append(gone, e)
	}
	return gone, failed
}
