import type { Theme } from './theme.ts'

export const workerReports: Theme = (specify, expect) => {
  specify(
    'what a worker reports replaces what it reported before, and goes with its session',
    async (world) => {
      const { sessions } = world.store
      const [first, second] = [(await world.worker()).session, (await world.worker()).session]
      await sessions.reportWorkers([
        { session: first, report: '{"phase":"idle"}' },
        { session: second, report: '{}' },
      ])
      await sessions.reportWorkers([{ session: first, report: '{"phase":"processing"}' }])
      const bySession = async () =>
        new Map((await sessions.workerReports()).map((one) => [one.session, one.report]))
      expect(await bySession()).toEqual(
        new Map([
          [first, '{"phase":"processing"}'],
          [second, '{}'],
        ]),
      )
      await sessions.endSession(second, 'stop')
      await sessions.reportWorkers([{ session: first, report: '{}' }])
      expect(await bySession()).toEqual(new Map([[first, '{}']]))
    },
  )
}
