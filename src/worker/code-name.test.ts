import { expect, test } from 'vitest'
import { codeName } from './workflow-bundle.js'

test('our own code is named by the version of the package', () => {
  expect(codeName({ taskQueue: 't' })).toMatch(/^everthread@\d+\.\d+\.\d+/)
})

test('a prebuilt bundle is named by what is in it', () => {
  const [name, other] = ['one', 'other'].map((code) => codeName({ taskQueue: 't', workflowBundle: { code } }))
  expect(name).toMatch(/^everthread\+[0-9a-f]{12}$/)
  expect(other).not.toBe(name)
})

test("code that is bundled with a user's own keeps Temporal's name", () => {
  expect(codeName({ taskQueue: 't', workflowsPath: '/app/workflows.js' })).toBeNull()
})
