// Imported first: from then on this process may open a socket to the PostgreSQL server of the benchmark and to nobody else.
import { Socket } from "node:net";

const connect = Socket.prototype.connect;

Socket.prototype.connect = function (...args) {
  const [first] = Array.isArray(args[0]) ? args[0] : args; // net.connect hands over its arguments as one list
  const port = Number(typeof first === "object" ? first.port : first);
  const server = process.env["DATABASE_URL"];
  if (server === undefined || port !== Number(new URL(server).port || 5432)) throw new Error("a benchmark uses no network");
  return connect.apply(this, args);
};
