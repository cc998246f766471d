package protocol

import (
	"encoding/binary"
	"errors"
	"io"
)

const (
	recordAlert     = 21
	recordHandshake = 22
	clientHello     = 1
	alertFatal      = 2
	// alertInternalError blames the server alone. By unrecognized_name the
	// client would have asked for the wrong host, by handshake_failure it would have
	// the wrong settings, and some try again with worse ones.
	alertInternalError = 80

	versionTLS12 = 0x0303
)

// refuseTLS ends the handshake with an alert. What has not begun as TLS gets
// none: it could not be read.
func refuseTLS(peer *client) error {
	// A record has its type, version and length; in it, the message its type, length
	// and version.
	begin, err := peer.in.Peek(11)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if judgeTLS(begin) != yes {
		return nil
	}
	// The version of an alert is that of the client or an older one, and since
	// TLS 1.3 always that of TLS 1.2.
	version := uint16(versionTLS12)
	if len(begin) == 11 && begin[5] == clientHello && begin[9] == versionTLS12>>8 {
		version = min(version, binary.BigEndian.Uint16(begin[9:]))
	}
	alert := binary.BigEndian.AppendUint16([]byte{recordAlert}, version)
	_, err = peer.out.Write(append(alert, 0, 2, alertFatal, alertInternalError))
	return err
}
