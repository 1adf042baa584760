package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"go.opentelemetry.io/collector/pdata/pprofile/pprofileotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// serve has three servers, which put every message they get into a file of the folder, NUMBER.METHOD: OpenTelemetry's
// service of the newest release over gRPC, any other service over gRPC, and OpenTelemetry's over HTTP. It prints their
// addresses, and ends with its standard input. The first call over gRPC is refused with UNAVAILABLE, and for good a
// profile that has an attribute "refuse".
func serve(folder string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	k := &keeper{folder: folder}
	collector := grpc.NewServer()
	pprofileotlp.RegisterGRPCServer(collector, k)
	others := grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(k.any))
	// Parca's messages come as they are, the collector's through its own library.
	second, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	third, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = collector.Serve(listener) }()
	go func() { _ = others.Serve(second) }()
	go func() { _ = http.Serve(third, http.HandlerFunc(k.post)) }()
	fmt.Println(listener.Addr(), second.Addr(), third.Addr())
	_, _ = os.Stdin.Read(make([]byte, 1))
	return nil
}

// keeper keeps what it gets.
type keeper struct {
	pprofileotlp.UnimplementedGRPCServer
	folder string
	mu     sync.Mutex
	calls  int
}

// keep counts a call and writes its message.
func (k *keeper) keep(method string, message []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls++
	if k.calls == 1 {
		return status.Error(codes.Unavailable, "not yet")
	}
	return os.WriteFile(filepath.Join(k.folder, fmt.Sprintf("%04d.%s", k.calls, filepath.Base(method))), message, 0o666)
}

// Export is the collector's service.
func (k *keeper) Export(_ context.Context, request pprofileotlp.ExportRequest) (pprofileotlp.ExportResponse, error) {
	response := pprofileotlp.NewExportResponse()
	if v, has := request.Profiles().ResourceProfiles().At(0).Resource().Attributes().Get("refuse"); has {
		switch v.AsString() {
		case "partly":
			response.PartialSuccess().SetRejectedProfiles(2)
			response.PartialSuccess().SetErrorMessage("two are too many")
			return response, nil
		default:
			return response, status.Error(codes.InvalidArgument, "refused: 100 % of it\nreally")
		}
	}
	b, err := request.MarshalProto()
	if err != nil {
		return response, err
	}
	return response, k.keep("Export", b)
}

// post is the collector's service over HTTP, as the receiver of OTLP has it: what it does not take it answers with a
// google.rpc.Status.
func (k *keeper) post(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/x-protobuf")
	message, err := k.posted(r)
	if err != nil {
		b, _ := proto.Marshal(status.New(codes.InvalidArgument, err.Error()).Proto())
		w.WriteHeader(http.StatusBadRequest)
		message = b
	}
	_, _ = w.Write(message)
}

func (k *keeper) posted(r *http.Request) ([]byte, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1development/profiles" ||
		r.Header.Get("Content-Type") != "application/x-protobuf" {
		return nil, fmt.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	versions := r.Header.Values(pprofileotlp.DevelopmentVersionHeader)
	if err := pprofileotlp.ValidateDevelopmentVersion(versions); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	request := pprofileotlp.NewExportRequest()
	if err := request.UnmarshalProto(body); err != nil {
		return nil, err
	}
	k.mu.Lock()
	k.calls++ // the first call is not refused
	k.mu.Unlock()
	response, err := k.Export(r.Context(), request)
	if err != nil {
		return nil, err
	}
	return response.MarshalProto()
}

// any takes calls of every other service, and answers with an empty message.
func (k *keeper) any(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var message []byte
	if err := stream.RecvMsg(&message); err != nil {
		return err
	}
	if err := k.keep(method, message); err != nil {
		return err
	}
	return stream.SendMsg(&[]byte{})
}

// rawCodec leaves messages as they are.
type rawCodec struct{}

func (rawCodec) Name() string                    { return "raw" }
func (rawCodec) Marshal(v any) ([]byte, error)   { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(b []byte, v any) error { *v.(*[]byte) = append([]byte{}, b...); return nil }
