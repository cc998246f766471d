// Program mongodb uses Go's driver of MongoDB: build.sh says how it is asked. The driver is
// required by a module file of its own, as nothing else needs it.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mongodb URI, and a line on the standard input for each question")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run asks with one client, once for each line.
func run(ctx context.Context, uri string) error {
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		return err
	}
	items := client.Database("shop").Collection("items")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		said := "ok"
		if err := items.FindOne(ctx, bson.D{}).Err(); err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
			said = strings.Join(strings.Fields(err.Error()), " ")
		}
		fmt.Println(said)
	}
	return errors.Join(lines.Err(), client.Disconnect(ctx))
}
