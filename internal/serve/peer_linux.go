package serve

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// errNoSocket is the error for a connection whose other end is not a socket of this machine, or is closed.
var errNoSocket = errors.New("no open socket has this address")

// socketID is struct inet_diag_sockid of linux/inet_diag.h.
type socketID struct {
	SourcePort, TargetPort [2]byte // big-endian
	Source, Target         [16]byte
	Interface              uint32
	Cookie                 [2]uint32
}

// socketRequest is a struct inet_diag_req_v2 in a message.
type socketRequest struct {
	Header                      unix.NlMsghdr
	Family, Protocol, Extras, _ uint8
	States                      uint32
	ID                          socketID
}

// socketReply is a struct inet_diag_msg in a message.
type socketReply struct {
	Header                               unix.NlMsghdr
	Family, State, Timer, Retransmits    uint8
	ID                                   socketID
	Expires, Received, Sent, User, Inode uint32
}

const tcpEstablished = 1

// socketOwner asks the kernel (sock_diag) which user's socket is the client of a TCP connection to a server on this
// machine.
func socketOwner(client, server netip.AddrPort) (uid uint32, err error) {
	client, server = plain(client), plain(server)
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	q := socketRequest{Family: unix.AF_INET, Protocol: unix.IPPROTO_TCP, States: 1 << tcpEstablished, ID: socketID{
		Source: bytesOf(client), Target: bytesOf(server), Cookie: [2]uint32{^uint32(0), ^uint32(0)}, // any
	}}
	if client.Addr().Is6() {
		q.Family = unix.AF_INET6
	}
	binary.BigEndian.PutUint16(q.ID.SourcePort[:], client.Port())
	binary.BigEndian.PutUint16(q.ID.TargetPort[:], server.Port())
	q.Header = unix.NlMsghdr{Len: uint32(binary.Size(q)), Type: unix.SOCK_DIAG_BY_FAMILY, Flags: unix.NLM_F_REQUEST}
	message, err := binary.Append(nil, binary.NativeEndian, &q)
	if err != nil {
		return 0, err
	}
	if err := unix.Sendto(fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, os.NewSyscallError("sock_diag", err)
	}
	answer := make([]byte, 8192)
	n, _, err := unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT) // the kernel answers before sendto returns
	if err != nil {
		return 0, os.NewSyscallError("sock_diag", err)
	}
	return ownerIn(answer[:n], client, server)
}

// ownerIn reads the kernel's answer. It counts only if it is about this very connection (the kernel may find a socket
// that listens there), and only while a process has the socket: the others have no owner, which reads as root.
func ownerIn(answer []byte, client, server netip.AddrPort) (uid uint32, err error) {
	var header unix.NlMsghdr
	if err := binary.Read(bytes.NewReader(answer), binary.NativeEndian, &header); err != nil {
		return 0, fmt.Errorf("sock_diag: an answer of %d bytes", len(answer))
	}
	if header.Type == unix.NLMSG_ERROR {
		var code int32
		_, _ = binary.Decode(answer[unix.SizeofNlMsghdr:], binary.NativeEndian, &code)
		if unix.Errno(-code) == unix.ENOENT {
			return 0, errNoSocket
		}
		return 0, os.NewSyscallError("sock_diag", unix.Errno(-code))
	}
	var reply socketReply
	_, err = binary.Decode(answer, binary.NativeEndian, &reply)
	if err != nil || header.Type != unix.SOCK_DIAG_BY_FAMILY {
		return 0, fmt.Errorf("sock_diag: an answer of type %d with %d bytes", header.Type, len(answer))
	}
	source := addressOf(reply.Family, reply.ID.Source, reply.ID.SourcePort)
	target := addressOf(reply.Family, reply.ID.Target, reply.ID.TargetPort)
	if source != client || target != server || reply.State != tcpEstablished || reply.Inode == 0 {
		return 0, errNoSocket
	}
	return reply.User, nil
}

// plain is an address without a zone, and of IPv4 if it stands for one.
func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

func bytesOf(a netip.AddrPort) (b [16]byte) {
	copy(b[:], a.Addr().AsSlice())
	return b
}

func addressOf(family uint8, address [16]byte, port [2]byte) netip.AddrPort {
	ip := netip.AddrFrom16(address).Unmap()
	if family == unix.AF_INET {
		ip = netip.AddrFrom4([4]byte(address[:4]))
	}
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(port[:]))
}
