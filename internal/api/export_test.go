package api

import "time"

// Patient has an answer that takes long come as one, and not as lines, so that its status says whether it is an error.
func (a *API) Patient() { a.patience = time.Minute }
