import { expect, test } from 'vitest'

import type { Behaviour } from '../support/thread-scripts.js'
import { marked } from '../support/marker.js'
import { toolResults } from '../support/thread-facts.js'
import { threeRuns } from '../support/three-runs.js'

interface Broken {
  readonly fact: string
  readonly call: { readonly name: string; readonly args: unknown }
  readonly behaviour?: Behaviour
  readonly text: RegExp
}

const task = { task: marked('try') }
const never: Behaviour = (state) =>
  new Promise((_, reject) => {
    state.execution?.abortSignal.addEventListener('abort', () => reject(new Error('aborted')))
  })

const BROKEN: readonly Broken[] = [
  {
    fact: 'a throw',
    call: { name: 'work', args: task },
    behaviour: () => {
      throw new Error(marked('thrown'))
    },
    text: /thrown/,
  },
  {
    fact: 'a rejection',
    call: { name: 'work', args: task },
    behaviour: () => Promise.reject(new Error(marked('rejected'))),
    text: /rejected/,
  },
  {
    fact: 'an error result',
    call: { name: 'work', args: task },
    behaviour: () => ({ status: 'error', error: marked('refused') }),
    text: /refused/,
  },
  { fact: 'a timeout', call: { name: 'slow', args: task }, behaviour: never, text: /0\.2 seconds/ },
  { fact: 'an unknown name', call: { name: 'wrok', args: task }, text: /wrok/ },
  { fact: 'the name of an object property', call: { name: 'constructor', args: {} }, text: /constructor/ },
  { fact: 'broken JSON', call: { name: 'work', args: `{"task": "${marked('cut')}` }, text: /JSON/ },
  { fact: 'arguments that fail the schema', call: { name: 'strict', args: { count: 0 } }, text: /count/ },
  { fact: 'missing arguments', call: { name: 'strict', args: {} }, text: /count/ },
]

threeRuns((desk) => {
  test.each(BROKEN)(
    'SA-R-05.2a SA-R-05.2b KP-04.1 KP-04.2 KP-13.1 $fact is a result and the loop goes on',
    async ({ call, behaviour, text }) => {
      let worked = 0
      const works: Behaviour = () => ((worked += 1), { status: 'success', result: marked('ok') })
      const { thread, chat } = await desk.start({
        chat: [{ toolCalls: [call, { name: 'other', args: task }] }, { text: marked('Done') }],
        tools: { [call.name]: behaviour ?? works },
      })
      const run = await thread.waitUntilIdle()
      expect(run).toMatchObject({ status: 'idle', reason: 'stop_on_response', steps: 2 })
      // What is not bound or does not fit the schema never gets to the tool.
      expect(worked).toBe(0)
      const [broken, other] = await toolResults(thread)
      expect(broken).toMatchObject({ name: call.name, tool_status: 'error' })
      expect(broken?.content).toMatch(text)
      expect(other).toMatchObject({ name: 'other', tool_status: 'success' })
      const seen = chat.requests[1]?.messages.flatMap(({ toolResults: results }) => results ?? [])
      expect(seen).toMatchObject([{ isError: true }, { isError: false }])
      expect(seen?.[0]?.text).toMatch(text)
    },
  )

  test('defaults of the schema apply to what a tool gets', async () => {
    const got: unknown[] = []
    const { thread } = await desk.start({
      chat: [{ toolCalls: [{ name: 'strict', args: { count: 2 } }] }, { text: marked('Done') }],
      tools: { strict: (_state, args) => (got.push(args), { status: 'success', result: marked('ok') }) },
    })
    await thread.waitUntilIdle()
    expect(got).toEqual([{ count: 2, unit: 'box' }])
  })
})
