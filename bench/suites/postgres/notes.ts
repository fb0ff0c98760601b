export const notes = `- **All**: one server, \`pg\` as the driver, a database of its own for every measurement, the same ~100-byte JSON
  payload, a handler that does nothing. Every filled database is vacuumed and analysed once and then copied file by file,
  with a checkpoint before and after, so that no measurement inherits the dead rows or unwritten pages of another one.
- **raw**: one table, a partial index for the claim alone, a primary key, prepared statements, arrays instead of long lists
  of values; no retries, leases, events, logs or counters. It is what the server and the driver allow, not a queue to use.
- **Gleaner**: compiled to JavaScript as it is published; only its public interface, with a schema that checks nothing,
  concurrency 100, everything else as it comes.
- **graphile-worker**: concurrency 24 and 25 connections, the settings behind the figures in its documentation; “batched” adds
  the others of them: a local queue of 500 and completions that wait for each other. It deletes completed jobs, so it
  keeps less.
- **pg-boss**: its own defaults (10 connections), \`useListenNotify\`, batches of 1000 with \`burstWhenBatchFull\`. Its
  rrule-temporal is held at 2.2.7, because the version it asks for is not published; only schedules use it.
- **BullMQ**: concurrency 32. On PostgreSQL: the backend that comes with it, 32 connections. On Redis, where a
  \`redis-server\` is found: a server of its own for every measurement, with \`appendfsync always\`, so that what is
  acknowledged survives a power cut there, too. It keeps completed jobs, as it comes. Its msgpackr-extract is held at
  3.0.4, because not all platforms of the version it asks for are published.`
