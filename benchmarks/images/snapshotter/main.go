// Serve eStargz's snapshotter, as its own containerd-stargz-grpc does, which Debian does not pack.
//
//	main FOLDER SOCKET
//
// It fetches what is read, and nothing ahead of that.
package main

import (
	"context"
	"net"
	"os"
	"os/signal"
	"syscall"

	snapshotsapi "github.com/containerd/containerd/api/services/snapshots/v1"
	"github.com/containerd/containerd/contrib/snapshotservice"
	"github.com/containerd/stargz-snapshotter/fs/config"
	"github.com/containerd/stargz-snapshotter/service"
	"google.golang.org/grpc"
)

func main() {
	folder, socket := os.Args[1], os.Args[2]
	settings := service.Config{Config: config.Config{NoPrefetch: true, NoBackgroundFetch: true}}
	snapshotter, err := service.NewStargzSnapshotterService(context.Background(), folder, &settings)
	if err != nil {
		panic(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		panic(err)
	}
	server := grpc.NewServer()
	snapshotsapi.RegisterSnapshotsServer(server, snapshotservice.FromSnapshotter(snapshotter))
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	go func() {
		<-ended
		server.Stop()
	}()
	_ = server.Serve(listener)
	_ = snapshotter.Close()
}
