import { expect, test } from 'vitest'
import * as ids from './ids.js'

// Wire format: a run that began under an older version asks for its operations by these ids.
test('T11 ids are made from counters alone', () => {
  expect([
    ids.runIdOf(3),
    ids.stepIdOf(3, 2),
    ids.modelOperationId({ run: 3, step: 2 }),
    ids.modelOperationId({ run: 3, step: 2, idleCalls: 1 }),
    ids.callIdOf(3, 2, 0),
    ids.settleOperationId(4),
    ids.reportOperationId(1),
    ids.idempotencyKeyOf('t', 'call_3_2_0'),
  ]).toEqual([
    'run_3',
    'step_3_2',
    'model_3_2',
    'model_3_2i1',
    'call_3_2_0',
    'settle_4',
    'report_1',
    't:call_3_2_0',
  ])
})
