import { titleOf } from './markdown.ts'
import { sitePages, textOf } from './pages.ts'

interface Section {
  title: string
  /** Pages in the order in which they are read, by their paths in `docs/`; a folder stands for all the rest of it. */
  pages: readonly string[]
}

/** Its pages are notes for the people who change Gleaner: the site shows them in a sidebar of their own. */
export const DECISIONS = 'Decisions'

/** What a reader wants, in the order in which most readers want it. */
const SECTIONS: readonly Section[] = [
  {
    title: 'Start',
    pages: [
      'start/what-is-gleaner.md',
      'start/first-task.md',
      'start/first-discovery.md',
      'start/first-worker.md',
      'start/dashboard.md',
      'start/',
    ],
  },
  {
    title: 'Guides: define work',
    pages: [
      'guide/tasks.md',
      'guide/running.md',
      'guide/retry.md',
      'guide/steps.md',
      'guide/signals.md',
      'guide/flows.md',
      'guide/batches.md',
      'guide/transactions.md',
      'guide/queues.md',
      'guide/limits.md',
      'guide/debounce.md',
      'guide/recurring.md',
      'guide/discovery.md',
      'guide/resources.md',
      'guide/managing.md',
      'guide/testing.md',
    ],
  },
  {
    title: 'Guides: run workers',
    pages: ['guide/config.md', 'guide/processes.md', 'guide/foreign-workers.md', 'guide/pulling.md'],
  },
  {
    title: 'Guides: see what happens',
    pages: [
      'guide/cli.md',
      'guide/dashboard.md',
      'guide/http.md',
      'guide/metrics.md',
      'guide/health.md',
      'guide/telemetry.md',
      'guide/looking-inside.md',
    ],
  },
  {
    title: 'Guides: operate',
    pages: [
      'guide/sqlite.md',
      'guide/postgres.md',
      'guide/maintenance.md',
      'guide/runbook.md',
      'guide/security.md',
    ],
  },
  {
    title: 'Deploy',
    pages: [
      'deploy/checklist.md',
      'deploy/systemd.md',
      'deploy/docker.md',
      'deploy/kubernetes.md',
      'deploy/pm2.md',
      'deploy/health-probes.md',
      'deploy/graceful-deploys.md',
      'deploy/backup.md',
      'deploy/upgrade.md',
      'deploy/',
    ],
  },
  {
    title: 'Coming from',
    pages: [
      'coming-from/bullmq.md',
      'coming-from/pg-boss.md',
      'coming-from/graphile-worker.md',
      'coming-from/bree-and-agenda.md',
      'coming-from/liteque.md',
      'coming-from/',
    ],
  },
  { title: 'Compare', pages: ['compare.md'] },
  {
    title: 'Reference',
    pages: [
      'reference/typescript.md',
      'reference/typescript-testing.md',
      'reference/typescript-http.md',
      'reference/typescript-health.md',
      'reference/typescript-supervisor.md',
      'reference/typescript-telemetry.md',
      'reference/config.md',
      'reference/cli.md',
      'reference/api.md',
      'guide/errors.md',
      'reference/',
    ],
  },
  {
    title: 'Understand',
    pages: ['guide/guarantees.md', 'understand/', 'architecture.md', 'benchmarks.md', 'decisions/index.md'],
  },
  { title: DECISIONS, pages: ['decisions/'] },
]

export interface Entry {
  /** Its path in `docs/`. */
  page: string
  title: string
}

export interface FilledSection {
  title: string
  entries: Entry[]
}

/** The sections with the pages that there are. */
export function contents(): FilledSection[] {
  const left = new Set(sitePages())
  const named = new Set(SECTIONS.flatMap(({ pages }) => pages))
  const takeAll = (pages: readonly string[]) => pages.filter((page) => left.delete(page))
  return SECTIONS.map(({ title, pages }) => ({
    title,
    entries: pages
      .flatMap((path) =>
        path.endsWith('/')
          ? takeAll([...left].filter((page) => page.startsWith(path) && !named.has(page)))
          : takeAll([path]),
      )
      .map((page) => ({ page, title: titleOf(textOf(`docs/${page}`)) })),
  })).filter(({ entries }) => entries.length > 0)
}
