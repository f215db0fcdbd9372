package api

// SessionCookie is the name of the cookie that holds a login's session: web sets it, and
// server reads it, below /ui/ alone.
const SessionCookie = "reverie_session"
