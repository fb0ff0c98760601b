import { files } from '../rows.ts'

export default {
  database: 'sqlite:./unused.db',
  discoveries: [files],
  timings: { lease: '3s', sweep: '200ms' },
}
