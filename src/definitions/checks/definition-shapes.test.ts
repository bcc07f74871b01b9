import { expect, test } from 'vitest'
import { shapeProblems, withoutProblems } from './definition-shapes.js'

const prompt = { name: 'desk', toolDescription: 'Answers.', prompt: 'Answer.', model: 'small' }

test('a problem shows the number that came, and no other value: it may be a secret', () => {
  const tool = { description: 'Looks up.', execute: () => null, timeout: 1.5, taskQueue: 7, retry: 'key-17' }
  const problems = shapeProblems('tools', tool, "tool 'look_up'")
  expect(problems).toHaveLength(3)
  expect(problems.join('\n')).toContain('timeout: expected a whole number of milliseconds, got 1.5')
  expect(problems.join('\n')).not.toContain('key-17')
})

test('the problems of the nearest member of a union are named, with the path to the field', () => {
  const entry = { name: 'clerk', resumable: { receives_messages: 'side_c' } }
  const [problem, ...others] = shapeProblems('prompts', { ...prompt, tools: [entry] }, "prompt 'desk'")
  expect(others).toEqual([])
  expect(problem).toContain('tools[0].resumable.receives_messages')
})

test('all wrong entries of a list are left out, and the right ones stay in their order', () => {
  const tools = Array.from({ length: 12 }, (_, index) =>
    [2, 9, 10].includes(index) ? null : `tool_${index}`,
  )
  const left = tools.filter((name) => name !== null)
  expect(withoutProblems('prompts', { ...prompt, tools })).toEqual({ ...prompt, tools: left })
})

test('unknown fields are left out; a definition without a required field is none', () => {
  expect(withoutProblems('prompts', { ...prompt, tags: [] })).toEqual(prompt)
  expect(withoutProblems('prompts', { ...prompt, model: 7 })).toBeUndefined()
})
