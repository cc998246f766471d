package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/critical-service/operator/hack/devcluster/internal/image"
)

func (a *app) image() *cobra.Command {
	cmd := &cobra.Command{Use: "image", Short: "Put images into the cluster's registry"}
	cmd.AddCommand(a.imageBuild(), a.imageLoad())
	return cmd
}

func (a *app) imageBuild() *cobra.Command {
	var request image.BuildRequest
	cmd := &cobra.Command{
		Use:   "build -t NAME CONTEXT",
		Short: "Build a Dockerfile; Pods use the image under its full name",
		Example: "  devcluster image build -t quay.io/example/app:dev .\n" +
			"  devcluster image build -t quay.io/example/app:dev -f Dockerfile --build-arg BASE=scratch --target final .",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.clusterAsRoot()
			if err != nil {
				return err
			}
			request.Context = args[0]
			return c.BuildImage(cmd.Context(), request, os.Stderr)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&request.Name, "tag", "t", "", "full name of the image, such as quay.io/example/app:dev")
	flags.StringVarP(&request.Dockerfile, "file", "f", "", "the Dockerfile (default CONTEXT/Dockerfile)")
	flags.StringArrayVar(&request.BuildArgs, "build-arg", nil, "KEY=VALUE for an ARG of the Dockerfile; may be repeated")
	flags.StringVar(&request.Target, "target", "", "stage of the Dockerfile to build")
	if err := cmd.MarkFlagRequired("tag"); err != nil {
		panic(err) // The flag is defined three lines above.
	}
	return cmd
}

func (a *app) imageLoad() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "load ARCHIVE.tar",
		Short: "Load the images of a docker or OCI archive",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.clusterAsRoot()
			if err != nil {
				return err
			}
			return c.LoadImages(cmd.Context(), args[0], name)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "name of the image, if not the archive's own")
	return cmd
}
