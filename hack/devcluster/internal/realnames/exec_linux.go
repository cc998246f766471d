package realnames

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

// machineHosts is where every resolver looks first.
const machineHosts = "/etc/hosts"

// Request says which program is to take which names for real.
type Request struct {
	Command []string
	// Names lead to Address.
	Names   []string
	Address string
	// AuthorityFile is the certificate of the server there.
	AuthorityFile string
}

// Exec replaces this process by the command, so that its output, exit code and
// signals are the command's. It returns only if that fails. The names are known in
// a mount namespace of the command's own, which ends with it.
func Exec(state layout.State, request Request) error {
	program, err := exec.LookPath(request.Command[0])
	if err != nil {
		return err
	}
	names := reachable(request.Names)
	hosts, err := os.ReadFile(machineHosts)
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(request.AuthorityFile)
	if err != nil {
		return err
	}
	known, err := trusted(os.Getenv(trustVariable))
	if err != nil {
		return fmt.Errorf("the file of $%s: %w", trustVariable, err)
	}
	dir := state.Path("real-names")
	if err := enterNamespace(dir); err != nil {
		return fmt.Errorf("a mount namespace for %s: %w", program, err)
	}
	bundle := filepath.Join(dir, "authorities.crt")
	err = errors.Join(
		cover([]byte(hostsFile(string(hosts), request.Address, names)), filepath.Join(dir, "hosts"), machineHosts),
		cover(join(known, authority), bundle, bundles...),
	)
	if err != nil {
		return err
	}
	return fmt.Errorf("run %s: %w", program, syscall.Exec(program, request.Command, environment(os.Environ(), bundle, names)))
}

// enterNamespace gives this thread a mount namespace with a folder of its own in
// it, in memory: commands that run at once do not see each other's.
func enterNamespace(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// A namespace belongs to a thread, and the one that calls exec is what the process becomes.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	// The machine's later mounts are seen in here, and none of these out there.
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=755")
}

// cover writes a file and puts it over those of the machine that exist.
func cover(content []byte, file string, existing ...string) error {
	if err := os.WriteFile(file, content, 0o644); err != nil {
		return err
	}
	for _, path := range existing {
		if err := unix.Mount(file, path, "", unix.MS_BIND, ""); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("bind %s over %s: %w", file, path, err)
		}
	}
	return nil
}
