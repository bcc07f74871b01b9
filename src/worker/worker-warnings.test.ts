import { expect, test } from 'vitest'
import { build, desk, done, research } from '../../test/support/loose-registry.js'
import { agent } from '../definitions/short-form/agent.js'
import { registry } from '../definitions/registry.js'
import type { ToolSource } from '../definitions/tool-source.js'
import { scriptedModel } from '../model/scripted-model.js'
import { redactKnownSecrets } from '../store/known-secrets.js'
import { checkLoginKey, noteSecretsOfEnv, ruleWarnings, secretKeyWarning } from './worker-warnings.js'

const secret = { name: 'SHOP_KEY', type: 'secret', required: true, description: 'Of the shop' }
const tools = { done: { ...done, variables: [secret] } }
const without = { keyIds: [] }

test('a worker without a key is told which secrets need it', () => {
  const warning = secretKeyWarning(build({ tools }), { secrets: without, env: {} })
  expect(warning).toContain('has no EVERTHREAD_SECRET_KEY, and its definitions have secrets (SHOP_KEY)')
  const listing = { ...desk, tools: ['done', { name: 'research', immediate: { scopedEnv: ['PASS'] } }] }
  const handing = build({ prompts: [listing], agents: [research] })
  expect(secretKeyWarning(handing, { secrets: without, env: { PASS: 'p' } })).toContain('(PASS)')
})

test('a worker that has a key, or needs none, is told nothing', () => {
  expect(secretKeyWarning(build({ tools }), { secrets: { keyIds: ['k'] }, env: {} })).toBeNull()
  expect(secretKeyWarning(build({ tools }), { secrets: without, env: { SHOP_KEY: 's' } })).toBeNull()
  expect(secretKeyWarning(build({}), { secrets: without, env: {} })).toBeNull()
})

test('a worker without a key does not start with logins to keep', () => {
  const source = {
    name: 'tracker',
    list: () => Promise.resolve([]),
    call: () => ({ status: 'success' }),
  } as const
  const clerk = (tracker: ToolSource) =>
    registry({
      agents: [agent({ name: 'clerk', model: scriptedModel([]), instructions: 'x', tools: { tracker } })],
    })
  const keeps = clerk({ ...source, keepsLogins: true })
  expect(() => checkLoginKey(keeps, without)).toThrow('seals the logins of people at tracker, got none')
  expect(() => checkLoginKey(keeps, { keyIds: ['k'] })).not.toThrow()
  expect(() => checkLoginKey(clerk(source), without)).not.toThrow()
})

test('T5: values of a worker are known secrets unless they are declared as text', () => {
  const place = { name: 'SHOP_PLACE', type: 'text', required: true, description: 'Where it is' }
  const listing = build({ tools: { done: { ...done, variables: [secret, place] } } })
  noteSecretsOfEnv(listing, { SHOP_KEY: 'walnut-and-oak', SHOP_PLACE: 'Bremerhaven', OTHER: 'birch-and-elm' })
  expect(redactKnownSecrets('walnut-and-oak, birch-and-elm, Bremerhaven', {})).toBe(
    '[secret SHOP_KEY], [secret OTHER], Bremerhaven',
  )
})

test('PL-CAP.1 a rule about no capability of a definition is a warning that names the nearest', () => {
  const sound = build({ tools: { done: { ...done, capabilities: ['orders.refund', 'texts.draft'] } } })
  const permissions = { 'orders.*': 'allow', '*': 'allow', 'texts.draft': true } as const
  expect(ruleWarnings(sound, permissions)).toEqual([])
  expect(ruleWarnings(sound, { 'order.refund': 'deny', 'people.*': 'deny' })).toEqual([
    'The rule "order.refund" of permissions is about no capability of a definition: did you mean \'orders.refund\'?',
    'The rule "people.*" of permissions is about no capability of a definition.',
  ])
  expect(ruleWarnings(sound)).toEqual([])
})
