import { defineConfig } from 'gleaner'
import { sendMail } from './tasks.ts'

// GLEANER_DATABASE, GLEANER_HOST, GLEANER_PORT and GLEANER_TOKEN replace these values, so one config fits every machine.
export default defineConfig({
  database: 'sqlite:./app.db',
  tasks: [sendMail],
  pools: { main: { processes: 2, concurrency: 10 } },
})
