package serve

import (
	"io"
	"net/http"
	"time"
)

// client is a response to a client that may be slow, or not read or write at all. It has some time for each write, and
// for the body of its request.
type client struct {
	http.ResponseWriter
	control *http.ResponseController
}

func newClient(w http.ResponseWriter) *client {
	c := &client{w, http.NewResponseController(w)}
	c.renew()
	return c
}

// renew gives the client time for the next write. A deadline stays in force for all requests of a connection, so that
// each of them begins and ends with a new one.
func (c *client) renew() { _ = c.control.SetWriteDeadline(time.Now().Add(writePatience)) }

func (c *client) Write(p []byte) (int, error) {
	c.renew()
	return c.ResponseWriter.Write(p)
}

// Flush sends what was written. It is a method of its own for handlers that ask for http.Flusher.
func (c *client) Flush() {
	c.renew()
	_ = c.control.Flush() // the next write reports the error
}

// Unwrap is for http.ResponseController.
func (c *client) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// boundBody bounds the body of a request, in bytes and in time.
func (c *client) boundBody(r *http.Request) {
	if r.ContentLength != 0 {
		most, file := int64(maxBody), r.URL.Path == filesPath
		if file {
			most = maxFile
		}
		_ = c.control.SetReadDeadline(time.Now().Add(bodyPatience))
		r.Body = &timedBody{http.MaxBytesReader(c.ResponseWriter, r.Body, most), c.control, file}
	}
}

// timedBody ends the deadline of a body with the body. Otherwise it would hold for the read in which the server waits
// for the client to go away.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	file    bool // it may take as long as it comes in
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		_ = b.control.SetReadDeadline(time.Time{})
	case b.file && err == nil:
		_ = b.control.SetReadDeadline(time.Now().Add(bodyPatience))
	}
	return n, err
}
