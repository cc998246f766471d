package judge

import "encoding/xml"

// suite is a JUnit report.
type suite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []*testCase `xml:"testcase"`
}

type testCase struct {
	Suite   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *failure `xml:"failure,omitempty"`
	Output  string   `xml:"system-out,omitempty"`
}

type failure struct {
	Message string `xml:"message,attr"`
}

// add counts a test, as failed if something is to be fixed.
func (s *suite) add(name, remark, log string) {
	s.Tests++
	added := &testCase{Suite: s.Name, Name: name, Output: log}
	if remark != "" {
		s.Failures++
		added.Failure = &failure{Message: remark}
	}
	s.Cases = append(s.Cases, added)
}

func (s *suite) xml() ([]byte, error) {
	text, err := xml.MarshalIndent(s, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}
