// Imported first: from then on this process may open a socket to the PostgreSQL server of the benchmark, to the servers that the benchmark
// itself started on this machine, and to nobody else.
import { Socket } from "node:net";

const connect = Socket.prototype.connect;
const own = new Set();

/** Lets this process call a server that the benchmark started. */
export function allowPort(port) {
  own.add(Number(port));
}

Socket.prototype.connect = function (...args) {
  const [first] = Array.isArray(args[0]) ? args[0] : args; // net.connect hands over its arguments as one list
  const { port, host } = typeof first === "object" ? first : { port: first, host: "" };
  const server = process.env["DATABASE_URL"];
  const isDatabase = server !== undefined && Number(port) === Number(new URL(server).port || 5432);
  if (!isDatabase && !(own.has(Number(port)) && host === "127.0.0.1")) throw new Error("a benchmark uses no network");
  return connect.apply(this, args);
};
