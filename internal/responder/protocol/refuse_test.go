package protocol

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

const testMessage = "The shop is closed. Back at nine."

// The answers to testMessage.
const (
	postgreSQLAnswer = "E\x00\x00\x00\x73SFATAL\x00VFATAL\x00C57P03\x00M" + testMessage + "\x00H" + postgreSQLHint + "\x00\x00"
	mySQLAnswer      = "\x2a\x00\x00\x00\xff\x1d\x04#08S01" + testMessage
	redisAnswer      = "-LOADING " + testMessage + "\r\n"
	redisSyntax      = "-ERR Protocol error\r\n"
	mongoDBDocument  = "\x6a\x00\x00\x00\x01ok\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02errmsg\x00\x22\x00\x00\x00" + testMessage + "\x00" +
		"\x10code\x00\x5b\x00\x00\x00\x02codeName\x00\x13\x00\x00\x00ShutdownInProgress\x00\x00"
	mongoDBAsMsg   = "\x7f\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\xdd\x07\x00\x00\x00\x00\x00\x00\x00" + mongoDBDocument
	mongoDBAsReply = "\x8e\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00" +
		"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00" + mongoDBDocument
)

// What a driver of MongoDB begins with: {hello: 1, $db: "admin"} in an OP_MSG, and
// {isMaster: 1, helloOk: true} to admin.$cmd in an OP_QUERY. Both have the number 7.
const (
	helloOfMongoDB = "\x34\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\xdd\x07\x00\x00\x00\x00\x00\x00\x00" +
		"\x1f\x00\x00\x00\x10hello\x00\x01\x00\x00\x00\x02$db\x00\x06\x00\x00\x00admin\x00\x00"
	isMasterOfMongoDB = "\x44\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\xd4\x07\x00\x00\x04\x00\x00\x00admin.$cmd\x00\x00\x00\x00\x00\xff\xff\xff\xff" +
		"\x1d\x00\x00\x00\x10isMaster\x00\x01\x00\x00\x00\x08helloOk\x00\x01\x00"
)

// sender is the refused end of a pipe, whose client sends what it has to say and
// then ends its direction.
type sender struct {
	net.Conn
	says io.Reader
	// halfClosed is true from the end of our direction on.
	halfClosed bool
}

func (s *sender) Read(p []byte) (int, error) { return s.says.Read(p) }

// CloseWrite is what a pipe lacks: the end of one direction.
func (s *sender) CloseWrite() error {
	s.halfClosed = true
	return nil
}

// refuse lets a client say something and returns what it hears.
func refuse(ctx context.Context, kind Kind, first string, says io.Reader, message string) (string, error) {
	ours, theirs := net.Pipe()
	result := make(chan error, 1)
	go func() { result <- Refuse(ctx, &sender{Conn: ours, says: says}, kind, []byte(first), message) }()
	// The reading ends when Refuse closes the pipe, and only then.
	heard, err := io.ReadAll(theirs)
	return string(heard), errors.Join(<-result, err)
}

func TestRefuse(t *testing.T) {
	hello := startup(version30, "user\x00me\x00database\x00shop\x00\x00")
	tests := map[string]struct {
		kind Kind
		says string
		want string
		err  string
	}{
		"PostgreSQL: a startup gets the error": {kind: PostgreSQL, says: hello, want: postgreSQLAnswer},
		"PostgreSQL: a startup of 3.2 gets the same": {
			kind: PostgreSQL, says: startup(version32, "user\x00me\x00\x00"), want: postgreSQLAnswer,
		},
		"PostgreSQL: encryption is declined, then comes the error": {
			kind: PostgreSQL, says: startup(gssRequest, "") + startup(sslRequest, "") + hello, want: "NN" + postgreSQLAnswer,
		},
		"PostgreSQL: a client may insist on encryption, and leave": {
			kind: PostgreSQL, says: startup(sslRequest, ""), want: "N",
		},
		"PostgreSQL: encryption is not declined for ever": {
			kind: PostgreSQL, says: strings.Repeat(startup(sslRequest, ""), 9), want: "NNN", err: "again and again",
		},
		"PostgreSQL: a cancel request gets no answer": {
			kind: PostgreSQL, says: startup(cancelRequest, "\x00\x00\x00\x01\x00\x00\x00\x02"),
		},
		"PostgreSQL: TLS without asking gets an alert":     {kind: PostgreSQL, says: hello13, want: "\x15\x03\x03\x00\x02\x02\x50"},
		"PostgreSQL: a client may leave without a word":    {kind: PostgreSQL},
		"PostgreSQL: a startup that breaks off is said":    {kind: PostgreSQL, says: hello[:12], err: "unexpected EOF"},
		"PostgreSQL: a header that breaks off is said":     {kind: PostgreSQL, says: hello[:3], err: "unexpected EOF"},
		"PostgreSQL: what is no startup is said":           {kind: PostgreSQL, says: "GET / HTTP/1.1\r\n\r\n", err: "no startup packet, but 47 45 54"},
		"PostgreSQL: a startup that is too long is said":   {kind: PostgreSQL, says: "\x00\x00\xff\xff\x00\x03\x00\x00", err: "no startup packet"},
		"MySQL: the error comes in place of the greeting":  {kind: MySQL, want: mySQLAnswer},
		"MySQL: the error comes whatever the client says":  {kind: MySQL, says: "\x00\x01\x02", want: mySQLAnswer},
		"Redis: an array gets the error":                   {kind: Redis, says: "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n", want: redisAnswer},
		"Redis: an inline command gets the error":          {kind: Redis, says: "PING\r\n", want: redisAnswer},
		"Redis: a bare line feed ends an inline command":   {kind: Redis, says: "PING\n", want: redisAnswer},
		"Redis: an empty command gets nothing":             {kind: Redis, says: "\r\n*0\r\nPING\r\n", want: redisAnswer},
		"Redis: a nameless command gets the error":         {kind: Redis, says: "*1\r\n$0\r\n\r\n", want: redisAnswer},
		"Redis: QUIT is granted, and what follows is not":  {kind: Redis, says: "*1\r\n$4\r\nquit\r\nPING\r\n", want: "+OK\r\n"},
		"Redis: an inline QUIT is granted":                 {kind: Redis, says: "PING\r\nQUIT\r\n", want: redisAnswer + "+OK\r\n"},
		"Redis: a QUIT in another place is an argument":    {kind: Redis, says: "*2\r\n$4\r\nECHO\r\n$4\r\nQUIT\r\n", want: redisAnswer},
		"Redis: a client may leave without a word":         {kind: Redis},
		"Redis: TLS gets an alert":                         {kind: Redis, says: hello13, want: "\x15\x03\x03\x00\x02\x02\x50"},
		"Redis: a command that breaks off is said":         {kind: Redis, says: "PING\r\n*2\r\n$3\r\nGE", want: redisAnswer, err: "unexpected EOF"},
		"Redis: an inline command that breaks off is said": {kind: Redis, says: "PING", err: "unexpected EOF"},
		"Redis: a length that is none is a syntax error":   {kind: Redis, says: "*x\r\n", want: redisSyntax, err: `"x" is not a length`},
		"Redis: a negative length is a syntax error":       {kind: Redis, says: "*1\r\n$-1\r\n", want: redisSyntax, err: `"-1" is not a length`},
		"Redis: an endless array is a syntax error":        {kind: Redis, says: "*99999999\r\n", want: redisSyntax, err: "is not a length"},
		"Redis: an argument without a length is a syntax error": {
			kind: Redis, says: "*1\r\nPING\r\n", want: redisSyntax, err: `"PING" is not the length of an argument`,
		},
		"Redis: an endless line is a syntax error": {
			kind: Redis, says: strings.Repeat("A", 4*bufferSize), want: redisSyntax, err: "longer than 1024 bytes",
		},
		"MongoDB: a hello gets the error":              {kind: MongoDB, says: helloOfMongoDB, want: mongoDBAsMsg},
		"MongoDB: a legacy hello gets it in its form":  {kind: MongoDB, says: isMasterOfMongoDB, want: mongoDBAsReply},
		"MongoDB: any command gets it":                 {kind: MongoDB, says: strings.Replace(helloOfMongoDB, "hello", "count", 1), want: mongoDBAsMsg},
		"MongoDB: only the first command gets it":      {kind: MongoDB, says: helloOfMongoDB + helloOfMongoDB, want: mongoDBAsMsg},
		"MongoDB: a command is refused unread":         {kind: MongoDB, says: mongoDBMessage(opMsg, mongoDBFirst), want: mongoDBAsMsg},
		"MongoDB: a client may leave without a word":   {kind: MongoDB},
		"MongoDB: a header that breaks off is said":    {kind: MongoDB, says: helloOfMongoDB[:15], err: "unexpected EOF"},
		"MongoDB: an endless command is said":          {kind: MongoDB, says: mongoDBMessage(opMsg, 1<<31), err: "no command of MongoDB, but 00 00 00 80 07"},
		"MongoDB: an empty command is said":            {kind: MongoDB, says: mongoDBMessage(opMsg, 0), err: "no command of MongoDB"},
		"MongoDB: a compressed one, never agreed, too": {kind: MongoDB, says: mongoDBMessage(2012, 300), err: "no command of MongoDB"},
		"TLS: a client of TLS 1.3 gets an alert in the record of TLS 1.2": {
			kind: TLS, says: hello13 + strings.Repeat("x", 200), want: "\x15\x03\x03\x00\x02\x02\x50",
		},
		"TLS: a client of TLS 1.0 gets an alert of TLS 1.0":       {kind: TLS, says: hello10, want: "\x15\x03\x01\x00\x02\x02\x50"},
		"TLS: a hello that breaks off gets an alert":              {kind: TLS, says: hello13[:5], want: "\x15\x03\x03\x00\x02\x02\x50"},
		"TLS: what is not TLS gets nothing":                       {kind: TLS, says: "GET / HTTP/1.1\r\n\r\n"},
		"Unknown: nothing is said":                                {kind: Unknown, says: "\x10\x10\x00\x04MQTT"},
		"HTTP is answered elsewhere: here, it is closed silently": {kind: HTTP1, says: "GET / HTTP/1.1\r\n\r\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			// The answer does not depend on how the bytes arrive.
			for _, already := range []int{0, min(1, len(test.says)), len(test.says) / 2, len(test.says)} {
				g := NewWithT(t)
				rest := iotest.OneByteReader(strings.NewReader(test.says[already:]))
				heard, err := refuse(t.Context(), test.kind, test.says[:already], rest, testMessage)
				g.Expect(heard).To(Equal(test.want), "with %d bytes read already", already)
				if test.err == "" {
					g.Expect(err).NotTo(HaveOccurred())
				} else {
					g.Expect(err).To(MatchError(And(ContainSubstring(test.err), ContainSubstring(string(test.kind)))))
				}
			}
		})
	}
}

// endless is a client that never stops talking.
type endless struct {
	phrase string
	read   int
}

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = e.phrase[(e.read+i)%len(e.phrase)]
	}
	e.read += len(p)
	return len(p), nil
}

func TestAClientThatNeverStopsIsCutOff(t *testing.T) {
	tests := map[string]struct {
		kind   Kind
		phrase string
		first  string
		want   string // the end of what the client hears
	}{
		"PostgreSQL, with encryption":    {kind: PostgreSQL, phrase: startup(sslRequest, ""), want: "NNN"},
		"PostgreSQL, with garbage":       {kind: PostgreSQL, phrase: "\xff"},
		"MySQL":                          {kind: MySQL, phrase: "\x00", want: mySQLAnswer},
		"Redis, with commands":           {kind: Redis, phrase: "A\r\n\r\n", want: redisAnswer + redisAnswer},
		"Redis, with empty lines":        {kind: Redis, phrase: "\r\n"},
		"Redis, with one line":           {kind: Redis, phrase: "A", want: redisSyntax},
		"Redis, with one long argument":  {kind: Redis, first: "*2\r\n$3\r\nSET\r\n$536870912\r\n", phrase: "A", want: redisAnswer},
		"Redis, with too many arguments": {kind: Redis, first: "*1048576\r\n", phrase: "$1\r\nA\r\n", want: redisAnswer},
		"MongoDB, with a long command":   {kind: MongoDB, first: mongoDBMessage(opMsg, mongoDBFirst), phrase: "x", want: mongoDBAsMsg},
		"MongoDB, with commands":         {kind: MongoDB, phrase: helloOfMongoDB, want: mongoDBAsMsg},
		"TLS":                            {kind: TLS, first: hello13, phrase: "x", want: "\x15\x03\x03\x00\x02\x02\x50"},
		"Unknown":                        {kind: Unknown, phrase: "\x10"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			client := &endless{phrase: test.phrase}
			heard, _ := refuse(t.Context(), test.kind, test.first, client, testMessage)
			g.Expect(heard).To(HaveSuffix(test.want))
			if test.want == "" {
				g.Expect(heard).To(BeEmpty())
			}
			g.Expect(client.read).To(BeNumerically("<=", readLimit+lingerBytes+bufferSize))
			g.Expect(len(heard)).To(BeNumerically("<=", redisCommands*len(redisAnswer)))
		})
	}
}

// The tests about time run in a bubble, in which time passes only while everybody
// waits.

func TestASilentClientIsNotWaitedForForEver(t *testing.T) {
	tests := map[string]struct {
		kind  Kind
		first string
		after time.Duration
		err   string
	}{
		"PostgreSQL, without a word":       {kind: PostgreSQL, after: timeout, err: "took longer than 10s"},
		"PostgreSQL, in mid-packet":        {kind: PostgreSQL, first: startup(version30, "user")[:10], after: timeout, err: "took longer than 10s"},
		"PostgreSQL, after its SSLRequest": {kind: PostgreSQL, first: startup(sslRequest, ""), after: timeout, err: "took longer than 10s"},
		"TLS, in mid-hello":                {kind: TLS, first: hello13[:4], after: timeout, err: "took longer than 10s"},
		"Redis, without a word":            {kind: Redis, after: timeout, err: "took longer than 10s"},
		"Redis, in mid-command":            {kind: Redis, first: "*2\r\n$3", after: redisSession},
		"Redis, after a command":           {kind: Redis, first: "PING\r\n", after: redisSession},
		"MongoDB, without a word":          {kind: MongoDB, after: timeout, err: "took longer than 10s"},
		"MongoDB, in mid-header":           {kind: MongoDB, first: helloOfMongoDB[:15], after: timeout, err: "took longer than 10s"},
		"MongoDB, in mid-command":          {kind: MongoDB, first: helloOfMongoDB[:16]},
		"MySQL, which is not waited for":   {kind: MySQL},
		"Unknown, which is not waited for": {kind: Unknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				ours, theirs := net.Pipe()
				go io.Copy(io.Discard, theirs) //nolint:errcheck // It ends with the pipe.
				begun := time.Now()
				err := Refuse(t.Context(), ours, test.kind, []byte(test.first), testMessage)
				if test.err == "" {
					g.Expect(err).NotTo(HaveOccurred())
				} else {
					g.Expect(err).To(MatchError(ContainSubstring(test.err)))
				}
				g.Expect(time.Since(begun)).To(Equal(test.after), "in the time of the bubble")
				g.Expect(ours.SetDeadline(time.Time{})).To(MatchError(io.ErrClosedPipe), "it is closed")
			})
		})
	}
}

func TestAClientIsAnsweredBeforeItSaysMore(t *testing.T) {
	type turn struct{ says, hears string }
	tests := map[string]struct {
		kind  Kind
		turns []turn
	}{
		"PostgreSQL waits for the word on encryption": {kind: PostgreSQL, turns: []turn{
			{startup(gssRequest, ""), "N"},
			{startup(sslRequest, ""), "N"},
			{startup(version30, "user\x00me\x00\x00"), postgreSQLAnswer},
		}},
		"Redis waits for each reply": {kind: Redis, turns: []turn{
			{"*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n", redisAnswer},
			{"PING\r\n*1\r\n$4", redisAnswer}, // and the second command is on its way
			{"\r\nQUIT\r\n", "+OK\r\n"},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				ours, theirs := net.Pipe()
				result := make(chan error, 1)
				go func() { result <- Refuse(t.Context(), ours, test.kind, nil, testMessage) }()
				for _, turn := range test.turns {
					_, err := io.WriteString(theirs, turn.says)
					g.Expect(err).NotTo(HaveOccurred())
					heard := make([]byte, len(turn.hears))
					_, err = io.ReadFull(theirs, heard)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(string(heard)).To(Equal(turn.hears))
				}
				_, err := theirs.Read(make([]byte, 1))
				g.Expect(err).To(MatchError(io.EOF))
				g.Expect(<-result).To(Succeed())
			})
		})
	}
}

func TestAClientThatDoesNotReadIsNotWaitedForForEver(t *testing.T) {
	first := map[Kind]string{
		PostgreSQL: startup(sslRequest, ""), MySQL: "", Redis: "PING\r\n", MongoDB: helloOfMongoDB, TLS: hello13,
	}
	for kind, first := range first {
		t.Run(string(kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer theirs.Close()
				NewWithT(t).Expect(Refuse(t.Context(), ours, kind, []byte(first), testMessage)).To(MatchError(errTimeout))
			})
		})
	}
}

func TestRefuseKeepsToItsContextAndToTheDeadlineOfTheCaller(t *testing.T) {
	t.Run("an end of the context ends the exchange", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := NewWithT(t)
			ctx, cancel := context.WithCancel(t.Context())
			ours, theirs := net.Pipe()
			result := make(chan error, 1)
			go func() { result <- Refuse(ctx, ours, PostgreSQL, nil, "") }()
			synctest.Wait()
			g.Expect(result).NotTo(Receive())
			cancel()
			g.Expect(<-result).To(MatchError(context.Canceled))
			_, err := theirs.Read(make([]byte, 1))
			g.Expect(err).To(MatchError(io.EOF))
		})
	})
	t.Run("a context that has ended lets nothing be waited for", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		ours, theirs := net.Pipe()
		defer theirs.Close()
		NewWithT(t).Expect(Refuse(ctx, ours, Redis, nil, "")).To(MatchError(context.Canceled))
	})
	t.Run("a deadline of the caller ends the exchange before the timeout does", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := NewWithT(t)
			ours, theirs := net.Pipe()
			defer theirs.Close()
			begun := time.Now()
			g.Expect(ours.SetDeadline(begun.Add(time.Second))).To(Succeed())
			g.Expect(Refuse(t.Context(), ours, PostgreSQL, nil, "")).To(MatchError(ContainSubstring("timeout")))
			g.Expect(time.Since(begun)).To(Equal(time.Second), "in the time of the bubble")
		})
	})
}

func TestWhatTheClientStillSendsIsReadAfterTheAnswer(t *testing.T) {
	first := map[Kind]string{
		PostgreSQL: startup(version30, "user\x00me\x00\x00"), MySQL: "", Redis: "QUIT\r\n", MongoDB: helloOfMongoDB, TLS: hello13, Unknown: "", HTTP1: "",
	}
	for kind, first := range first {
		t.Run(string(kind), func(t *testing.T) {
			g := NewWithT(t)
			ours, theirs := net.Pipe()
			go io.Copy(io.Discard, theirs) //nolint:errcheck // It ends with the pipe.
			rest := strings.NewReader(first + strings.Repeat("x", lingerBytes/2))
			conn := &sender{Conn: ours, says: rest}
			g.Expect(Refuse(t.Context(), conn, kind, nil, testMessage)).To(Succeed())
			g.Expect(rest.Len()).To(BeZero(), "what is unread when a connection is closed resets it")
			g.Expect(conn.halfClosed).To(BeTrue(), "or the client would wait for the end")
		})
	}
}

// TestTheClientReadsAnEndAndNoReset is about real connections: they are reset if
// they are closed while something is unread.
func TestTheClientReadsAnEndAndNoReset(t *testing.T) {
	tests := map[string]struct {
		kind Kind
		says string
		want string
	}{
		"an unknown protocol":             {kind: Unknown, says: strings.Repeat("\x10", 100<<10)},
		"MySQL, talking before its turn":  {kind: MySQL, says: strings.Repeat("\x10", 100<<10), want: mySQLAnswer},
		"TLS, with a long hello":          {kind: TLS, says: hello13 + strings.Repeat("x", 16<<10), want: "\x15\x03\x03\x00\x02\x02\x50"},
		"PostgreSQL, with what follows":   {kind: PostgreSQL, says: startup(version30, "user\x00me\x00\x00") + strings.Repeat("Q", 100<<10), want: postgreSQLAnswer},
		"MongoDB, with what follows":      {kind: MongoDB, says: helloOfMongoDB + strings.Repeat("x", 100<<10), want: mongoDBAsMsg},
		"Redis, with what follows a QUIT": {kind: Redis, says: "QUIT\r\n" + strings.Repeat("PING\r\n", 10<<10), want: "+OK\r\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			address := listen(t, test.kind, testMessage)
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
			g.Expect(err).NotTo(HaveOccurred())
			defer conn.Close()
			_, err = io.Copy(conn, strings.NewReader(test.says))
			g.Expect(err).NotTo(HaveOccurred())
			heard, err := io.ReadAll(conn)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(heard)).To(Equal(test.want))
		})
	}
}

func TestAClientThatResetsWithoutAWordIsNoError(t *testing.T) {
	g := NewWithT(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	defer listener.Close()
	theirs, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	ours, err := listener.Accept()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(theirs.(*net.TCPConn).SetLinger(0)).To(Succeed(), "so that closing it resets it")
	g.Expect(theirs.Close()).To(Succeed())
	g.Expect(Refuse(t.Context(), ours, Redis, nil, testMessage)).To(Succeed())
}

// listen refuses every client, until the test ends. An empty kind is detected.
func listen(t *testing.T, kind Kind, message string) (address string) {
	t.Helper()
	g := NewWithT(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(t.Context(), conn, kind, message)
		}
	}()
	return listener.Addr().String()
}

func serve(ctx context.Context, conn net.Conn, kind Kind, message string) {
	var first bytes.Buffer
	for enough := kind != ""; !enough; {
		if _, err := io.CopyN(&first, conn, 1); err != nil {
			break
		}
		kind, enough = Detect(first.Bytes())
	}
	_ = Refuse(ctx, conn, kind, first.Bytes(), message)
}
