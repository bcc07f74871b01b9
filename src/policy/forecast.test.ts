import { describe, expect, test } from 'vitest'

import { forecast } from './forecast.js'
import type { Foreseen } from './forecast.js'
import { storedPermissions, TOOL_ASKS } from './judge.js'
import type { ThreadPermissions } from './judge.js'
import type { Effect } from './permissions.js'

const NO_CODE = { tool: false, policy: false }

function foresee(given: Partial<Foreseen>, ofThread: ThreadPermissions = {}): readonly [string, boolean] {
  const sources = { traits: {}, rules: [], opinions: [], mode: undefined, checks: NO_CODE }
  const { decision, dependsOnArguments } = forecast(
    { ...sources, ...given },
    storedPermissions({ thread: ofThread }),
  )
  return [decision.decision, dependsOnArguments]
}

const asks = { opinions: [TOOL_ASKS] }
const checked = (checks: Partial<Foreseen['checks']>): Partial<Foreseen> => ({
  checks: { ...NO_CODE, ...checks },
})
const ruled = (effect: Effect): Partial<Foreseen> => ({
  traits: { capabilities: ['a'] },
  rules: [{ source: 'worker', permissions: { a: effect } }],
})

describe('what is foreseen of a call', () => {
  test.each([
    ['without code', {}, {}, 'allowed', false],
    ['of a tool that always asks', asks, {}, 'asked', false],
    ['of a tool that may ask', checked({ tool: true }), {}, 'asked', true],
    ['that a policy function judges', checked({ policy: true }), {}, 'allowed', true],
    ['that rules deny', { ...ruled('deny'), ...checked({ tool: true, policy: true }) }, {}, 'denied', false],
    [
      'that rules want approved',
      { ...ruled('require_approval'), ...checked({ tool: true }) },
      {},
      'asked',
      false,
    ],
    ['that a policy may deny', { ...asks, ...checked({ policy: true }) }, {}, 'asked', true],
    ['with bypass', { ...asks, ...checked({ tool: true }) }, { mode: 'bypass' }, 'allowed', false],
    ['with bypass and a policy', checked({ policy: true }), { mode: 'bypass' }, 'allowed', true],
    ['with never', checked({ tool: true }), { mode: 'never' }, 'denied', true],
    ['with auto and no policy', asks, { mode: 'auto' }, 'asked', false],
    ['with auto and a policy', { ...asks, ...checked({ policy: true }) }, { mode: 'auto' }, 'asked', true],
    ['where nobody can be asked', asks, { interactive: false }, 'denied', false],
    ['of plan', checked({ tool: true, policy: true }), { mode: 'plan' }, 'denied', false],
  ] as const)('%s', (_what, given, ofThread, ...expected) => {
    expect(foresee(given, ofThread)).toEqual(expected)
  })
})
