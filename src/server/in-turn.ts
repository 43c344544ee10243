/** Calls that must not overtake each other: those that continue one session, those that start a run with one key. */

/** What is done now, by name: of each runtime. */
const doing = new WeakMap<object, Map<string, Promise<unknown>>>();

/** Does the work when whatever was begun under this name before it is over, however that ended. Of each project and process. */
export async function inTurn<T>(runtime: object, name: string, work: () => Promise<T>): Promise<T> {
  const turns = doing.get(runtime) ?? new Map<string, Promise<unknown>>();
  doing.set(runtime, turns);
  const before = turns.get(name) ?? Promise.resolve();
  const done = before.then(work);
  const over = done.catch(() => {}); // whoever asked is told
  turns.set(name, over);
  try {
    return await done;
  } finally {
    if (turns.get(name) === over) turns.delete(name);
  }
}
