export const notes = `- **All**: better-sqlite3, WAL, the same ~100-byte JSON payload, a handler that does nothing, \`synchronous\` as the
  scenario says (set on the peers’ connections where they have no option for it).
- **raw**: one table, one partial index for the claim alone, prepared statements; no retries, leases, priorities beyond
  a column, events or logs. It is what the disk and the driver allow, not a queue to use.
- **Gleaner**: compiled to JavaScript as it is published; only its public interface, with a schema that checks nothing,
  concurrency 100.
- **plainjob**: synchronous, one task at a time by design. Its loop ends with an exception when the database is busy;
  the benchmark starts it again, as a user would have to, and counts the error.
- **liteque**: concurrency 1, as documented; more gains nothing with a no-op. Version 0.8.0 cannot claim on better-sqlite3 ≥ 11.10, because it hands an async function to
  \`transaction()\`; the benchmark runs the same statements without it, which is what happened before. It deletes
  completed tasks, so it writes less.
- **sidequest**: in one process with the inline runner, concurrency 100, manual job resolution. Its core and backend are
  held at 1.16.4 and better-sqlite3 at 13.0.3. Its documentation recommends SQLite for development only.
  Its errors only go to its log and are not counted.
- liteque and sidequest get a tenth of the tasks. Their claims sort the whole backlog, so a short one flatters them.`
