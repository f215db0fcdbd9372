// Package localdb runs a private PostgreSQL cluster for the binary itself, for
// when no database is configured. It is started on demand, shared by whoever
// runs at the same time, and stopped when the last one ends, however that one
// ended.
//
// Three locks in the cluster's directory decide everything, because the kernel
// drops an flock when its holder dies, kill -9 included:
//
//   - users.lock is held shared by every [Cluster] that is in use. Who gets it
//     exclusively knows that nobody uses the server.
//   - supervisor.lock is held by the one process that runs [Supervise]. It
//     starts the server, restarts it when it crashes, and once it gets
//     users.lock exclusively stops it and ends. It is detached from whoever
//     started it.
//   - server.lock is inherited by the PostgreSQL processes themselves, so it is
//     free only when the last of them is gone. A process id in a file left by a
//     crash or a reboot proves nothing; this does.
//
// A fourth, start.lock, makes starters take turns. A supervisor that is killed
// leaves the server running for those who use it; the next [Start] or
// [Cluster.Close] puts a new supervisor in charge, which adopts that server.
package localdb
