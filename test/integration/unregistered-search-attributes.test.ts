import { Connection } from '@temporalio/client'
import { msToTs } from '@temporalio/common/lib/time.js'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { marked } from '../support/marker.js'
import { until } from '../support/until.js'
import { createFixture } from './worker/fixture.js'
import type { Fixture } from './worker/fixture.js'
import { wholeTranscript } from './worker/whole-thread.js'

const address = inject('devServerAddress')
const namespace = `bare-${process.pid}`
let fixture: Fixture

beforeAll(async () => {
  await registerNamespace()
  fixture = await createFixture({ namespace })
  await fixture.startWorker()
})
afterAll(() => fixture.close())

test('threads run without registered search attributes', async () => {
  const warnings: string[] = []
  const listen = ({ message }: Error): void => void warnings.push(message)
  process.on('warning', listen)
  const create = (id: string) =>
    fixture.create({ id, userId: 'ann', tags: ['vip'], message: marked(`please book #${id}`) })
  const threads = [await create('bare-1'), await create('bare-2')]
  for (const thread of threads) {
    await thread.waitUntilIdle({ timeout: '100 s' })
    expect(await wholeTranscript(thread)).toHaveLength(4)
    expect((await thread.workflow.describe()).searchAttributes).not.toHaveProperty('ThreadAgent')
  }
  process.off('warning', listen)
  // One for both, with the command that registers all five.
  expect(warnings).toEqual([expect.stringContaining('temporal operator search-attribute create')])
  expect(warnings[0]).toContain(`--namespace ${namespace}`)
})

/** A namespace of its own, which has none of ours; the server takes a moment to know it everywhere. */
async function registerNamespace(): Promise<void> {
  const connection = await Connection.connect({ address })
  const day = msToTs('1 day')
  await connection.workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: day })
  const known = (): Promise<boolean> =>
    connection.workflowService.listWorkflowExecutions({ namespace }).then(
      () => true,
      () => false,
    )
  await until('the namespace', known)
  await connection.close()
}
