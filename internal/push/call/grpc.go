package call

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

// frameHead is the length of what precedes a message of gRPC: a byte that says whether it is compressed, and its length.
const frameHead = 5

// codes are the names of gRPC's status codes.
var codes = []string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
	"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}

func codeName(code int) string {
	if code >= 0 && code < len(codes) {
		return codes[code]
	}
	return fmt.Sprintf("gRPC status %d", code)
}

// codePasses reports whether a call that got this status may succeed later.
func codePasses(code int) bool {
	switch codeName(code) {
	case "DEADLINE_EXCEEDED", "ABORTED", "UNAVAILABLE":
		return true
	}
	return false
}

// Unary makes one try of a unary call of gRPC, without compression, and returns the answer's message. The method is written
// /package.Service/Method; server has the scheme http or https. What the server refuses is an *Error.
func (c *Client) Unary(ctx context.Context, server *url.URL, method string, message []byte) ([]byte, error) {
	to := *server
	to.Path = method
	body := make([]byte, frameHead, frameHead+len(message))
	binary.BigEndian.PutUint32(body[1:], uint32(len(message)))
	answer, response, err := c.post(ctx, &to, http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}, append(body, message...))
	if err != nil {
		return nil, err
	}
	refused := func(code int, text string) error { return &Error{Server: Server(server), Code: code, Text: text} }
	status := response.Trailer
	if status.Get("Grpc-Status") == "" {
		status = response.Header // an answer without a message
	}
	code, err := strconv.Atoi(status.Get("Grpc-Status"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: the answer is none of gRPC; is that the port of another protocol?", Server(server))
	case code != 0:
		return nil, refused(code, brief([]byte(unescaped(status.Get("Grpc-Message")))))
	case len(answer) < frameHead || answer[0] != 0 || uint64(binary.BigEndian.Uint32(answer[1:])) != uint64(len(answer)-frameHead):
		return nil, refused(13, "the answer is not one message")
	}
	return answer[frameHead:], nil
}

// unescaped is a status message as it was before it was percent-encoded.
func unescaped(text string) string {
	if s, err := url.PathUnescape(text); err == nil {
		return s
	}
	return text
}
