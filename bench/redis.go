package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// driver is a client of a program that runs in dir. It returns when the program has ended, with the CPU seconds that
// the client itself took.
type driver func(dir string, requests int) (float64, error)

// redisKinds are the kinds of requests that redis-benchmark sends, the same number of each.
var redisKinds = []string{"set", "get", "lpush", "lpop", "hset", "zadd"}

// redisWorkload is a server that answers n requests of each kind, on a socket in its working directory.
func redisWorkload(n int) (all []workload, missing []string) {
	server, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, []string{"redis (Debian: apt install redis-server)"}
	}
	if _, err := exec.LookPath("redis-benchmark"); err != nil {
		return nil, []string{"redis (Debian: apt install redis-tools)"}
	}
	return []workload{{name: "redis", what: "redis-benchmark: " + strings.Join(redisKinds, ", ") + "; per request",
		args: []string{server, "--port", "0", "--unixsocket", "redis.sock", "--save", "", "--appendonly", "no",
			"--daemonize", "no"}, unit: perRequest, requests: n, drive: driveRedis}}, nil
}

func driveRedis(dir string, requests int) (float64, error) {
	var cpu float64
	client := func(args ...string) (string, error) {
		cmd := exec.Command(args[0], append([]string{"-s", filepath.Join(dir, "redis.sock")}, args[1:]...)...)
		out, err := cmd.CombinedOutput()
		if s := cmd.ProcessState; s != nil {
			cpu += (s.UserTime() + s.SystemTime()).Seconds()
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return string(out), nil
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		out, err := client("redis-cli", "ping")
		if err == nil && strings.Contains(out, "PONG") {
			break
		}
		if time.Now().After(end) {
			return cpu, fmt.Errorf("redis-server does not answer: %w", err)
		}
	}
	if _, err := client("redis-benchmark", "-q", "-n", fmt.Sprint(requests), "-t", strings.Join(redisKinds, ","), "-r",
		"10000", "-d", "100"); err != nil {
		return cpu, err
	}
	_, _ = client("redis-cli", "shutdown", "nosave") // the server closes the connection instead of answering
	return cpu, nil
}
