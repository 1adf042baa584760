package call

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
)

// frameHead is the length of the prefix of a gRPC message: a byte that says whether the message is compressed, and the
// message's length.
const frameHead = 5

// codes are the names of gRPC's status codes.
var codes = []string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
	"ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
	"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

func codeName(code int) string {
	if code >= 0 && code < len(codes) {
		return codes[code]
	}
	return fmt.Sprintf("gRPC status %d", code)
}

// codeRetryable reports whether a call that got this status may succeed later.
func codeRetryable(code int) bool {
	switch codeName(code) {
	case "DEADLINE_EXCEEDED", "ABORTED", "UNAVAILABLE":
		return true
	}
	return false
}

// Unary makes one try of a unary gRPC call, without compression, and returns the message of the response. The method
// has the form /package.Service/Method; server has the scheme http or https. header (may be nil) is added to the call.
// If the server refuses the call, the error is an *Error.
func (c *Client) Unary(ctx context.Context, server *url.URL, method string, header http.Header, message []byte,
) ([]byte, error) {
	to := *server
	to.Path = method
	body := make([]byte, frameHead, frameHead+len(message))
	binary.BigEndian.PutUint32(body[1:], uint32(len(message)))
	all := http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	maps.Copy(all, header)
	answer, response, err := c.post(ctx, &to, all, append(body, message...))
	if err != nil {
		return nil, err
	}
	refused := func(code int, text string) error { return &Error{Server: Server(server), Code: code, Text: text} }
	status := response.Trailer
	if status.Get("Grpc-Status") == "" {
		status = response.Header // a response without a message
	}
	code, err := strconv.Atoi(status.Get("Grpc-Status"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: not a gRPC response; is this the port of another protocol?", Server(server))
	case code != 0:
		return nil, refused(code, brief([]byte(unescaped(status.Get("Grpc-Message")))))
	case len(answer) < frameHead || answer[0] != 0 ||
		uint64(binary.BigEndian.Uint32(answer[1:])) != uint64(len(answer)-frameHead):
		return nil, refused(13, "the answer is not one message")
	}
	return answer[frameHead:], nil
}

// unescaped undoes the percent-encoding of a status message.
func unescaped(text string) string {
	if s, err := url.PathUnescape(text); err == nil {
		return s
	}
	return text
}

// WrongPort says that a port speaks gRPC where HTTP/1 was expected. It is not retryable.
type WrongPort struct{ server string }

func (e *WrongPort) Error() string {
	return e.server + ": this port speaks gRPC, not HTTP/1"
}

// Retryable reports whether the same call may succeed later.
func (e *WrongPort) Retryable() bool { return false }

// The header of an HTTP/2 frame: a length of three bytes, then the type. A server begins with a SETTINGS frame.
const (
	http2Head     = 9
	http2Type     = 3
	http2Settings = 4
)

// speaksGRPC reports whether a server begins with HTTP/2's SETTINGS frame whatever is sent to it, as gRPC servers do.
// It is called after an HTTP/1 call failed: how that failure looks depends on how much had been sent when the server
// hung up.
func (c *Client) speaksGRPC(ctx context.Context, to *url.URL) bool {
	if to.Scheme != "http" || c.grpc || to.Port() == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, portTime)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", to.Host)
	if err != nil {
		return false
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	head := make([]byte, http2Head)
	if err := conn.SetDeadline(deadline); err != nil {
		return false
	}
	if _, err := fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", to.Host); err != nil {
		return false
	}
	_, err = io.ReadFull(conn, head)
	return err == nil && head[http2Type] == http2Settings && head[0] == 0
}
