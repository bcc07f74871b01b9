/** Views of the log of a thread that has met everything. `EVERTHREAD_RECORD_STREAM` writes its stream to that file. */
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'

import type { ThreadHandle } from '../../src/client/index.js'
import { koreEvent } from '../../src/server/view-schemas.js'
import type { ViewName } from '../../src/views/views.js'
import { createFamilyScripts } from '../support/family-scripts.js'
import { approve, calls, done, order } from '../support/kinds-replies.js'
import { marked } from '../support/marker.js'
import { factsOf } from '../support/thread-facts.js'
import { threeModes } from '../support/three-modes.js'
import { until } from '../support/until.js'
import { viewOf } from '../support/view-rules.js'
import { viewsDesk } from '../support/views-desk.js'

const { models, tools, script } = createFamilyScripts(viewsDesk)
const RECORD = process.env['EVERTHREAD_RECORD_STREAM']

threeModes({ registry: viewsDesk, models, tools }, (mode) => {
  /** Lacks a variable, meets a failing model, calls everything, is asked about a refund, hands over, and is stopped later. */
  async function meetEverything(id: string): Promise<ThreadHandle> {
    script(id, mode.env.store, {
      voices: {
        host: [
          { error: { status: 500, message: 'No.' } },
          calls(order('look'), order('draft'), order('runner'), order('store')),
          calls(order('refund')),
          calls(order('chief')),
        ],
        draft: [{ text: marked('A draft') }],
        worker: [done],
        judge: [approve()],
        boss: [done, done],
      },
      tools: {
        look: () => {
          throw new Error(marked('It is closed'))
        },
        store: async (state) => {
          await state.writeFile('/notes.txt', marked('A note'), 'text/plain')
          return { status: 'success', result: marked('Written') }
        },
      },
    })
    const thread = await mode.env.threads.create({
      ...{ agent: 'host', id, message: marked('Hello') },
      permissions: { 'orders.refund': 'require_approval' },
    })
    const asked = (kind: string) =>
      until(`a request for ${kind}`, async () =>
        (await thread.snapshot()).pending.find((request) => request.kind === kind),
      )
    await thread.respond((await asked('variables')).id, { env: { OWNER: marked('Ann') } })
    await thread.respond((await asked('approval')).id, { approved: true })
    await thread.waitUntilIdle()
    await thread.send(marked('Thanks'))
    await thread.waitUntilIdle()
    return thread
  }
  let everything: Promise<ThreadHandle> | undefined
  const met = () => (everything ??= meetEverything(`views-${mode.mode.replaceAll(' ', '-')}`))

  async function viewed<Name extends ViewName>(name: Name) {
    const thread = await met()
    const subject = { threadId: thread.threadId, sessionId: thread.threadId, agent: 'host' }
    return viewOf(name, subject, await factsOf(thread))
  }

  test('KP-10.1 the trace of a full scenario has the eight types with their fields', async () => {
    const thread = await met()
    if (RECORD !== undefined && mode.mode === 'default cache')
      writeFileSync(RECORD, `${JSON.stringify(await factsOf(thread), null, 1)}\n`)
    const events = await viewed('kp')
    for (const event of events) koreEvent.parse(event)
    expect(new Set(events.map(({ type }) => type))).toEqual(
      new Set([
        ...['llm_call', 'tool_call', 'tool_result', 'decision', 'handoff', 'state_change'],
        ...['guardrail_eval', 'error'],
      ]),
    )
  })
})
