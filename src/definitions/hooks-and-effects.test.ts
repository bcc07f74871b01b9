import { expect, test } from 'vitest'
import { z } from 'zod'

import {
  agentProblems,
  build,
  desk,
  problems,
  promptProblems,
  support,
} from '../../test/support/loose-registry.js'

const mask = { hook: 'before_create_message', id: 'mask', execute: () => undefined }
const remind = { description: 'Reminds.', args: z.object({ at: z.coerce.date() }), execute: () => undefined }

test('a registry finds hooks by id, effects by key', () => {
  const registry = build({ hooks: [mask], effects: { remind } })
  expect(registry.hook('mask')).toBe(mask)
  expect(registry.effect('remind')).toBe(remind)
  expect(registry.names()).toMatchObject({ hooks: ['mask'], effects: ['remind'] })
  expect([registry.hook('x'), registry.effect('constructor')]).toEqual([undefined, undefined])
})

test('a hook has a known point, an id and code', () => {
  const wrong = { hook: 'tool_call_started', id: '', execute: 1, timeout: 3_600_000, name: 'x' }
  expect(problems({ hooks: [wrong, { ...mask, timeout: 0 }, mask] })).toEqual([
    expect.stringMatching(/^hooks\[0\]: hook: expected one of "after_thread_created"\|/),
    'hooks[0]: id: must not be empty',
    'hooks[0]: execute: expected a function',
    'hooks[0]: timeout: Too big: expected a number of milliseconds to be <=300000, got 3600000',
    'hooks[0] has the unknown field name: its fields are hook, id, execute, timeout',
    "hook 'mask': timeout: Too small: expected a number of milliseconds to be >0, got 0",
    "hook 'mask' is registered more than once",
  ])
})

test('hooks that are listed are registered, each once', () => {
  const hooks = ['mask', 'msk', 'mask']
  const sentences = (owner: string) => [
    `${owner} lists the hook 'msk', which is not registered: did you mean 'mask'?`,
    `${owner} lists the hook 'mask' twice`,
  ]
  expect(problems({ hooks: [mask], prompts: [{ ...desk, hooks }], agents: [{ ...support, hooks }] })).toEqual(
    [...sentences("prompt 'desk'"), ...sentences("agent 'support'")],
  )
  expect(agentProblems({ ...support, hooks: ['mask'] })).toHaveLength(1)
  expect(promptProblems({ hooks: ['mask'] })).toHaveLength(1)
})

test('an effect has a description, arguments and code', () => {
  expect(problems({ effects: { remind: { description: ' ', args: {}, timeout: 1 }, '': remind } })).toEqual([
    "effect 'remind': description: must not be empty",
    "effect 'remind': args: expected a z.object of zod 4",
    "effect 'remind': execute: expected a function",
    "effect 'remind' has the unknown field timeout: its fields are description, args, execute",
    "the name of effect '': must not be empty",
  ])
  expect(problems({ effects: 7, hooks: {} })).toEqual([
    'registry: hooks: expected array, received object',
    'registry: effects: expected an object of effects, by name: { my_name: … }',
  ])
})

test('ids of hooks and names of effects give warnings', () => {
  expect(build({ hooks: [{ ...mask, id: 'maskCards' }], effects: { Remind: remind } }).warnings).toEqual([
    "the name of hook 'maskCards' is not in snake_case",
    "the name of effect 'Remind' is not in snake_case",
  ])
})
