import { expect, test } from 'vitest'

import { ran } from './desk-of-tests.js'
import { endpointFixture } from './endpoint-fixture.js'

const fixture = endpointFixture('dev')
const { hurried, inEndpoint, answered } = fixture

test('K-23 an endpoint invokes a tool in place, whose effects are committed with its end', async () => {
  const result = await answered(async (_request, state) => {
    const found = await state.invokeTool('look_up', { what: 'here' })
    return [found, await state.getValue('looked')]
  })
  expect(result).toEqual([{ status: 'success', result: 'Found here' }, 'here'])
  expect((await fixture.thread.messages()).messages).toEqual([])
  expect(await fixture.thread.decisions()).toMatchObject([
    {
      ...{ toolName: 'look_up', messageId: null, parentCallId: null, decision: 'allowed' },
      ...{ outcome: 'succeeded', action: { arguments: { what: 'here' }, runtimeOwner: 'local' } },
    },
  ])
})

test('K-23 what needs a model, an agent or a person is refused in words', async () => {
  const names = ['desk', 'support', 'refund', 'subagent_create', 'nothing']
  const codes = await answered((_request, state) =>
    Promise.all(
      names.map(async (name) => {
        const { error, error_code: code } = await state.invokeTool(name, {})
        return [name, code, error?.includes('use queueTool')]
      }),
    ),
  )
  expect(codes).toEqual([
    ['desk', 'not_in_place', true],
    ['support', 'not_in_place', true],
    ['refund', 'approval_required', true],
    ['subagent_create', 'not_in_place', true],
    ['nothing', 'unknown_tool', false],
  ])
  const wrong = await answered((_request, state) => state.invokeTool('look_up', { what: 7 }))
  expect(wrong).toMatchObject({ status: 'error', error_code: 'invalid_arguments' })
})

test.each([
  ['account', { account: 'acme' }],
  ['user', { account: 'acme', userId: 'ann' }],
] as const)('a rule of the %s binds the tools that an endpoint invokes', async (_source, owner) => {
  const id = (await fixture.env.threads.create({ agent: 'support', account: 'acme', userId: 'ann' })).threadId
  const invoke = async () => {
    const response = await fixture.run(
      async (_request, state) => Response.json(await state.invokeTool('refund', {})),
      { id },
    )
    return (await response.json()) as unknown
  }
  await fixture.env.threads.setPermissions(owner, { 'orders.*': 'deny' })
  expect(await invoke()).toMatchObject({ status: 'error', error_code: 'denied' })
  await fixture.env.threads.setPermissions(owner, null)
  expect(await invoke()).toMatchObject({ status: 'error', error_code: 'approval_required' })
})

test('what a tool wrote before it threw is kept', async () => {
  const thrown = await answered((_request, state) => state.invokeTool('fail', {}))
  expect(thrown).toEqual({ status: 'error', error: 'Too bad' })
  expect(await answered((_request, state) => state.getValue('failing'))).toBe(true)
})

test('T9 a tool that is stopped with its endpoint leaves nothing', async () => {
  const response = await hurried(async (_request, state) => Response.json(await state.invokeTool('hang', {})))
  expect(response.status).toBe(504)
  expect(ran).toContain('hang')
  expect(await answered((_request, state) => state.getValue('hanging'))).toBeNull()
})

test('T8 no tool runs in a thread that is closed', async () => {
  await fixture.thread.terminate()
  const response = await inEndpoint((_request, state) => state.invokeTool('look_up', { what: 'late' }))
  expect(response.status).toBe(409)
  expect(ran).not.toContain('late')
})
