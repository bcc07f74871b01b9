import { z } from 'zod'

import { defineAgent, definePrompt, defineTool } from '../../../src/index.js'
import type { ThreadState } from '../../../src/index.js'

const voice = { toolDescription: 'Works', model: 'chat', includeChat: true, includePastTools: true } as const
const order = z.object({ task: z.string(), files: z.array(z.string()).default([]) })
const takes = { initUserMessageProperty: 'task', initAttachmentsProperty: 'files' } as const
const deliver = { name: 'deliver', messageProperty: 'summary', attachmentsProperty: 'files' } as const

/** A director has managers and foremen, who have hands: a manager asks for all of his at once, a foreman one by one. */
export const treePrompts = [
  definePrompt({
    ...voice,
    name: 'director',
    prompt: 'You are the director.',
    tools: [
      'split',
      { name: 'manager', blocking: false, ...takes },
      { name: 'foreman', blocking: false, ...takes },
      { name: 'guest', blocking: false, ...takes },
      { name: 'guests', blocking: false, fanOut: true, ...takes },
      { name: 'host', blocking: false, ...takes },
    ],
  }),
  definePrompt({
    ...voice,
    name: 'manager_seat',
    prompt: 'You are the manager.',
    requiredSchema: order,
    tools: ['split', { name: 'hand', fanOut: true, ...takes }, 'merge', 'deliver'],
  }),
  definePrompt({
    ...voice,
    name: 'foreman_seat',
    prompt: 'You are the foreman.',
    requiredSchema: order,
    tools: ['split', { name: 'hand', ...takes }, 'merge', 'deliver'],
  }),
  definePrompt({
    ...voice,
    name: 'hand_seat',
    prompt: 'You are the hand.',
    requiredSchema: order,
    tools: ['change', 'deliver'],
  }),
  definePrompt({
    ...voice,
    name: 'guest_seat',
    prompt: 'You are the guest.',
    requiredSchema: order,
    tools: ['ask', 'deliver'],
  }),
  definePrompt({
    ...voice,
    name: 'host_seat',
    prompt: 'You are the host.',
    requiredSchema: order,
    tools: [{ name: 'guests', fanOut: true, ...takes }, 'deliver'],
  }),
] as const

const seat = { type: 'dual_ai', maxSessionTurns: 4, exposeAsTool: true, toolDescription: 'Works' } as const
const silent = { prompt: 'clerk' } as const

export const treeAgents = [
  defineAgent({ name: 'director', sideA: { prompt: 'director' } }),
  defineAgent({
    ...seat,
    name: 'manager',
    sideA: { prompt: 'manager_seat', sessionStop: deliver },
    sideB: silent,
  }),
  defineAgent({
    ...seat,
    name: 'foreman',
    sideA: { prompt: 'foreman_seat', sessionStop: deliver },
    sideB: silent,
  }),
  defineAgent({ ...seat, name: 'hand', sideA: { prompt: 'hand_seat', sessionStop: deliver }, sideB: silent }),
  defineAgent({
    ...seat,
    name: 'guest',
    sideA: { prompt: 'guest_seat', sessionStop: deliver },
    sideB: silent,
  }),
  defineAgent({
    ...seat,
    name: 'guests',
    sideA: { prompt: 'guest_seat', sessionStop: deliver },
    sideB: silent,
  }),
  defineAgent({ ...seat, name: 'host', sideA: { prompt: 'host_seat', sessionStop: deliver }, sideB: silent }),
] as const

// A worker that is killed leaves no tool of theirs unknown: each may run again.
export const treeTools = {
  split: defineTool({
    description: 'Makes parts of the attachment',
    idempotent: true,
    args: z.object({ parts: z.number(), from: z.string() }),
    async execute(state, { parts, from }) {
      const text = await textAt(state, from)
      for (let part = 1; part <= parts; part += 1)
        await state.writeFile(`/parts/${part}.txt`, `${text} ${part}`, 'text/plain')
      return { status: 'success', result: 'split' }
    },
  }),
  change: defineTool({
    description: 'Changes the attachment',
    idempotent: true,
    args: z.object({ from: z.string() }),
    async execute(state, { from }) {
      await state.writeFile('/out/result.txt', `${await textAt(state, from)} changed`, 'text/plain')
      return { status: 'success', result: 'changed' }
    },
  }),
  merge: defineTool({
    description: 'Makes one file of several',
    idempotent: true,
    args: z.object({ files: z.array(z.string()) }),
    async execute(state, { files }) {
      const texts: string[] = []
      for (const file of files) texts.push(await textAt(state, file))
      await state.writeFile('/out/result.txt', texts.join('\n'), 'text/plain')
      return { status: 'success', result: 'merged' }
    },
  }),
  ask: defineTool({ description: 'Asks outside', execute: () => ({ status: 'pending' }) }),
}

async function textAt(state: ThreadState, path: string): Promise<string> {
  const bytes = await state.readFile(path)
  if (bytes === null) throw new Error(`Expected a file ${path}, got none.`)
  return Buffer.from(bytes).toString()
}
