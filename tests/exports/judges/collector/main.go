// Collector is OpenTelemetry's receiver of OTLP as collectors have it, over gRPC and HTTP, and nothing behind it: what
// it gets it writes into a folder, a file of JSON for each message. It prints the addresses of both, and ends with its
// standard input.
//
//	collector FOLDER
//
// go.mod has it of the newest release, old.mod of the last one that reads version 0.2 of the protocol.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer/xconsumer"
	"go.opentelemetry.io/collector/pdata/pprofile"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/collector/receiver/xreceiver"
)

func main() {
	if err := collect(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func collect(folder string) error {
	var n atomic.Int64
	next, err := xconsumer.NewProfiles(func(_ context.Context, p pprofile.Profiles) error {
		b, err := (&pprofile.JSONMarshaler{}).MarshalProfiles(p)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, fmt.Sprintf("%04d", n.Add(1))), b, 0o666)
	})
	if err != nil {
		return err
	}
	for tries := 1; ; tries++ {
		grpc, http, err := free()
		if err != nil {
			return err
		}
		// Somebody else may have taken a port by now.
		if err = start(next, grpc, http); err == nil {
			fmt.Println(grpc, http)
			_, _ = os.Stdin.Read(make([]byte, 1))
			return nil
		} else if tries == 10 {
			return err
		}
	}
}

// free returns two unused addresses: the receiver does not report which one the system has chosen.
func free() (grpc, http string, err error) {
	a, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer a.Close()
	b, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	defer b.Close()
	return a.Addr().String(), b.Addr().String(), nil
}

// start starts the receiver.
func start(next xconsumer.Profiles, grpc, http string) error {
	factory := otlpreceiver.NewFactory()
	config := factory.CreateDefaultConfig()
	err := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{"grpc": map[string]any{"endpoint": grpc},
		"http": map[string]any{"endpoint": http}}}).Unmarshal(config)
	if err != nil {
		return err
	}
	receiver, err := factory.(xreceiver.Factory).CreateProfiles(context.Background(),
		receivertest.NewNopSettings(factory.Type()), config, next)
	if err != nil {
		return err
	}
	return receiver.Start(context.Background(), componenttest.NewNopHost())
}
