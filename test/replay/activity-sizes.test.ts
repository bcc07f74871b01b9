import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js'
import { expect, test } from 'vitest'
import { readHistories } from '../../src/testing/record-histories.js'
import { HISTORIES } from './kept-folders.js'

interface Payloads {
  readonly payloads?: readonly { readonly data?: Uint8Array | null }[] | null
}

/** Bytes of what went to activities, by their names, and of all that came back, over every kept history. */
async function keptSizes() {
  const inputs: { readonly activity: string; readonly bytes: number; readonly warns: boolean }[] = []
  const answers: number[] = []
  for await (const { history } of readHistories(HISTORIES)) {
    for (const event of historyFromJSON(history).events ?? []) {
      const scheduled = event.activityTaskScheduledEventAttributes
      const completed = event.activityTaskCompletedEventAttributes
      if (scheduled) {
        const activity = scheduled.activityType?.name ?? ''
        inputs.push({ activity, bytes: sizeOf(scheduled.input), warns: warns(scheduled.input) })
      }
      if (completed) answers.push(sizeOf(completed.result))
    }
  }
  return { inputs, answers }
}

function sizeOf(given: Payloads | null | undefined): number {
  return (given?.payloads ?? []).reduce((sum, { data }) => sum + (data?.length ?? 0), 0)
}

/** Whether the input carries warnings: each signal that is refused adds one of some 150 bytes. */
function warns(given: Payloads | null | undefined): boolean {
  return (given?.payloads ?? []).some(({ data }) => Buffer.from(data ?? []).includes('"runtime.warning"'))
}

const { inputs, answers } = await keptSizes()

test('a step gives its activities some hundred bytes', () => {
  const ofSteps = inputs.filter(({ activity }) => /^thread\.(callModel|executeTool)$/.test(activity))
  expect(ofSteps.length).toBeGreaterThan(300)
  expect(ofSteps.filter(({ bytes, warns: more }) => bytes > (more ? 1152 : 1024))).toEqual([])
})

test('no activity is given more than 1.5 KB but for warnings, or answers more than 2 KB', () => {
  expect(inputs.filter(({ bytes, warns: more }) => bytes > 1536 && !more)).toEqual([])
  expect(inputs.filter(({ bytes }) => bytes > 3072)).toEqual([])
  expect(answers.length).toBeGreaterThan(500)
  expect(Math.max(...answers)).toBeLessThan(2048)
})
