// Refuses connections to anywhere but this machine, and counts them: what is measured
// must not depend on the network, nor tell anyone of it.
import net from "node:net";

const here = new Set(["127.0.0.1", "::1", "localhost", undefined]);
const refused = [];
const connect = net.Socket.prototype.connect;

net.Socket.prototype.connect = function (...args) {
  const to = Array.isArray(args[0]) ? args[0][0] : args[0]; // as net.connect normalizes them
  const host = typeof to === "object" ? to.host : typeof args[1] === "string" ? args[1] : undefined;
  const path = typeof to === "string" ? to : to?.path; // a socket of this machine
  if (!path && !here.has(host)) {
    refused.push(`${host}:${to.port ?? to}`);
    process.nextTick(() => this.destroy(new Error(`${host}: connections to elsewhere are refused here`)));
    return this;
  }
  return connect.apply(this, args);
};

// outside is where anything was to be connected to.
export const outside = () => refused;
