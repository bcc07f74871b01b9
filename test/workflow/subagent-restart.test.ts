import { expect, test } from 'vitest'

import { createGate } from '../support/gate.js'
import { familyRuns } from '../support/family-runs.js'
import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { until } from '../support/until.js'

const order = { toolCalls: [{ name: 'pair', args: { task: marked('Write'), title: 'Ada' } }] }
const approve = { toolCalls: [{ name: 'approve', args: { summary: marked('Good') } }] }

familyRuns(
  (families) => {
    test('SA-A-07.1d AR-S3.6 child and registry entry outlive the worker', async () => {
      const gate = createGate()
      const family = await families.start({
        voices: {
          planner: [order, { text: marked('Done') }],
          // Asked twice: the restart cuts the first request.
          writer: async () => (await gate.passed, { text: marked('Draft') }),
          editor: [approve],
        },
      })
      const child = await family.child()
      const { threadId } = family.thread
      await until('the request of the child', () => family.requests('writer').length === 1)
      await families.env.restartWorker()
      const entry = { reference: child.threadId, name: 'pair', threadName: 'Ada' }
      expect((await family.thread.snapshot()).children).toMatchObject([{ ...entry, status: 'running' }])
      expect(await family.thread.tree()).toMatchObject({
        ...{ threadId, status: 'running', closedAt: null },
        children: [{ threadId: child.threadId, status: 'running', closedAt: null, entry, children: [] }],
      })
      gate.open()
      await family.thread.waitUntilIdle({ timeout: '100 s' })
      expect((await family.thread.snapshot()).children).toMatchObject([{ ...entry, status: 'completed' }])
      expect((await child.snapshot()).parent).toBe(threadId)
      expect(await toolResults(family.thread)).toMatchObject([{ content: marked('Good') }])
      expect(family.requests('writer')).toHaveLength(2)
    })
  },
  { restarts: true },
)
