import { expect, test } from 'vitest'
import { build, desk, done, problems, promptProblems, support } from '../../test/support/loose-registry.js'
import { buildPlan } from './plan/build-plan.js'

const company = { name: 'COMPANY', type: 'text', required: true, description: 'Shown to customers' }
const key = {
  name: 'KEY',
  type: 'secret',
  required: false,
  scoped: true,
  description: 'Of the orders service',
}
const ofCompany = [{ type: 'env', property: 'COMPANY' }]

test('a variable is declared once, in one type', () => {
  const variables = [company, company]
  const tools = { done: { ...done, variables: [{ ...company, type: 'secret' }, key] } }
  expect(problems({ prompts: [{ ...desk, variables }], tools })).toEqual([
    "prompt 'desk' declares the variable 'COMPANY' twice",
    "tool 'done' declares the variable 'COMPANY' as secret, but prompt 'desk' as text",
  ])
})

test('a secret in a text or in env is refused', () => {
  const tools = { done: { ...done, variables: [key] } }
  const prompts = [{ ...desk, prompt: [{ type: 'env', property: 'KEY' }], env: { KEY: 'k' } }]
  const agents = [{ ...support, env: { KEY: 'k', COMPANY: 'Acme' } }]
  expect(problems({ agents, prompts, tools })).toEqual([
    "prompt 'desk' has the secret 'KEY' in its text: only tools may read secrets",
    "prompt 'desk' has the secret 'KEY' in env, which is stored as it is: set it on the thread",
    "agent 'support' has the secret 'KEY' in env, which is stored as it is: set it on the thread",
  ])
})

test('a variable that nothing declares gives a warning', () => {
  const text = [...ofCompany, ...ofCompany]
  expect(build({ prompts: [{ ...desk, prompt: text }] }).warnings).toEqual([
    "prompt 'desk' has the variable 'COMPANY' in its text, which nothing declares, so that a value from outside is a secret and left out: add it to variables",
  ])
  expect(promptProblems({ prompt: text, variables: [company] })).toEqual([])
})

test('a plan has the variables of includes and tools', () => {
  const tone = { ...desk, name: 'tone', tools: [], prompt: ofCompany, variables: [company] }
  const including = {
    ...desk,
    prompt: [{ type: 'include', prompt: 'tone' }],
    variables: [{ ...key, required: true }],
  }
  const tools = { done: { ...done, variables: [key, { ...company, name: 'CITY' }] } }
  const content = buildPlan(build({ prompts: [including, tone], tools }), 'support')
  expect(content).toMatchObject({
    prompts: {
      desk: {
        system: ofCompany,
        variables: [{ ...key, required: true }, company, { ...company, name: 'CITY' }],
      },
    },
  })
})
