// Package localdb runs a private PostgreSQL for the binary itself, for when no
// database is configured. It is started on demand, shared by all processes that run
// at the same time, and stopped when the last of them ends, however that one ended.
//
// [Start] joins a running server. Where none runs, it starts the process of
// [Supervise], which starts the server and stops it. Three locks in the cluster's
// directory say who is there. The kernel drops a lock when its holder dies.
//
//   - users.lock is held shared by every [Cluster]. Who gets it exclusively knows that
//     nobody uses the server.
//   - server.lock is inherited by PostgreSQL's processes. It is free when all of them are
//     gone. A process number in a file, left by a crash, proves nothing.
//   - start.lock makes starters wait for each other.
//
// On Linux the server ends with a supervisor that is killed. The next Start starts both.
package localdb
