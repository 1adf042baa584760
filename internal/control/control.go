// Package control sends requests to a recorder while it records: over a unix socket in the run's folder, one line of
// JSON each way. Recorders listen (Listen), `heaptap ctl` finds the recorder of a process (Find) and calls it (Call).
package control

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Verb is an action.
type Verb string

// The verbs.
const (
	Start  Verb = "start"  // record again, in the previous mode
	Stop   Verb = "stop"   // record no new allocations
	Mode   Verb = "mode"   // change to the mode in Text: exact or sampled
	Mark   Verb = "mark"   // set a mark with the name Text
	Flush  Verb = "flush"  // write everything that has happened into the recordings
	Status Verb = "status" // only report
	Dump   Verb = "dump"   // flush, and print the profile that Text describes
	// Threshold: flush, print the call stack Stack, and run the threshold monitor's action. Text has size, live and
	// address, each as NAME=NUMBER.
	Threshold Verb = "threshold"
)

// Request is one request.
type Request struct {
	Verb  Verb
	Text  string `json:",omitempty"`
	Spool string `json:",omitempty"` // file name of the spool that is meant; "": all of the run
	TID   int    `json:",omitempty"` // thread that sends the request; 0: none
	Stack uint32 `json:",omitempty"` // a call stack by its number in the spool; when passed on, in the recording
	// Set when a dump of frames is passed on: the recording's call stacks, by their numbers in the spool.
	Nodes []uint32 `json:"-"`
	// Process that is meant, if Spool is set; others with the same spool may be affected, too.
	PID int `json:",omitempty"`
}

// Reply is the answer to a request.
type Reply struct {
	Error     string    `json:",omitempty"`
	Processes []Process `json:",omitempty"` // that were affected
	Body      int       `json:",omitempty"` // length of the Text
	Text      []byte    `json:"-"`          // of a dump; it follows the line
}

// Process is the state of a process's recording.
type Process struct {
	PID        int    `json:"pid"`
	Program    string `json:"program"`
	File       string `json:"file"`
	Mode       string `json:"mode"`
	Events     uint64 `json:"events"` // in the recording, or not written yet
	LiveBytes  uint64 `json:"live_bytes"`
	LiveBlocks uint64 `json:"live_blocks"`
	LostEvents uint64 `json:"lost_events"`
	LagNS      int64  `json:"lag_ns"` // how far the recorder is behind
	Error      string `json:"error,omitempty"`
}

// socketName is the name of the socket in the run's folder.
const socketName = "control"

// patience bounds how long a request may take. Flushing a recording can take a while, because it looks up names.
const patience = 2 * time.Minute

// reach calls do with a path of the socket that fits into a socket address, however long the folder's path is.
func reach(dir string, do func(path string) error) error {
	f, err := os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(filepath.Join("/proc/self/fd", strconv.Itoa(int(f.Fd())), socketName))
}

// Server answers requests.
type Server struct {
	listener *net.UnixListener
	path     string
}

// Listen creates the socket in a run's folder. Only the same user can reach it. answer is called from a goroutine for
// each request.
func Listen(dir string, answer func(Request) Reply) (*Server, error) {
	s := &Server{path: filepath.Join(dir, socketName)}
	// The socket gets its name once it listens: a socket that does not listen would mean that the recorder is dead.
	err := reach(dir, func(path string) (err error) {
		early := path + ".new"
		_ = os.Remove(early)
		if s.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: early, Net: "unix"}); err != nil {
			return err
		}
		s.listener.SetUnlinkOnClose(false) // its path is gone; Close removes it
		if err = os.Chmod(early, 0o600); err == nil {
			err = os.Rename(early, path)
		}
		if err != nil {
			_ = s.listener.Close()
			_ = os.Remove(early)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("heaptap ctl will not reach this run: %w", err)
	}
	go s.serve(answer)
	return s, nil
}

// Close ends the listening and removes the socket.
func (s *Server) Close() {
	_ = s.listener.Close()
	_ = os.Remove(s.path)
}

func (s *Server) serve(answer func(Request) Reply) {
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(100 * time.Millisecond) // no descriptors left, perhaps
			continue
		}
		go func() {
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(patience))
			var q Request
			reply := Reply{}
			if err := receive(conn, &q); err != nil {
				reply.Error = "the request cannot be understood: " + err.Error()
			} else {
				reply = answer(q)
			}
			reply.Body = len(reply.Text)
			if send(conn, reply) == nil {
				_, _ = conn.Write(reply.Text)
			}
		}()
	}
}

// Call sends a request to the recorder of a run's folder and returns its answer. An error of the recorder is an error.
func Call(dir string, q Request) (Reply, error) {
	var reply Reply
	var conn net.Conn
	err := reach(dir, func(path string) (err error) {
		if conn, err = net.DialTimeout("unix", path, 10*time.Second); err == nil {
			if err = checkPeer(conn.(*net.UnixConn), filepath.Dir(path)); err != nil {
				conn.Close()
			}
		}
		return err
	})
	if err != nil {
		return reply, noRecorder(dir, err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if err = send(conn, q); err == nil {
		err = receive(conn, &reply)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return reply, fmt.Errorf("the recorder does not answer; is it stopped?")
	case err != nil:
		return reply, fmt.Errorf("the recorder has gone away: %w", err)
	case reply.Error != "":
		return reply, errors.New(reply.Error)
	}
	return reply, nil
}

// checkPeer returns an error unless the folder's owner is listening: a process can name any folder.
func checkPeer(conn *net.UnixConn, dir string) error {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return err
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	wrong := raw.Control(func(fd uintptr) {
		peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(wrong, err); err != nil {
		return err
	}
	if peer.Uid != st.Uid && peer.Uid != 0 {
		return fmt.Errorf("who listens there is user %d, and the folder belongs to user %d", peer.Uid, st.Uid)
	}
	return nil
}

func send(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = w.Write(append(b, '\n'))
	}
	return err
}

// maxLine bounds what is read: a status of many processes is long.
const maxLine = 64 << 20

func receive(r io.Reader, v any) error {
	b, err := bufio.NewReader(io.LimitReader(r, maxLine)).ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}
