import type { Broken } from '../world.js'
import { runChoices } from './schedule.js'
import type { Choices } from './schedule.js'

/** Milliseconds for which a shorter schedule is looked for. */
const PATIENCE = 20_000

interface Found {
  readonly broken: Broken
  readonly choices: Choices
}

/** The shortest schedule that is found to break the same rule: parts are left out, then choices made usual. */
export async function shrink({ broken: { rule }, choices: found }: Found): Promise<Choices> {
  const until = performance.now() + PATIENCE
  let best = found
  const better = async (candidate: Choices): Promise<boolean> => {
    if (performance.now() > until) return false
    const { broken, choices } = await runChoices(candidate, { seen: new Map() })
    if (broken?.rule !== rule) return false
    // What it did not ask for is no part of it.
    best = withoutUsual(candidate.slice(0, choices.length))
    return true
  }
  for (let shorter = true; shorter && performance.now() < until;) {
    const before = best.length
    for (let size = Math.ceil(best.length / 2); size >= 1; size = Math.floor(size / 2))
      for (let at = 0; at < best.length;)
        if (!(await better([...best.slice(0, at), ...best.slice(at + size)]))) at += size
    for (let at = 0; at < best.length; at += 1)
      if (best[at] !== USUAL) await better([...best.slice(0, at), USUAL, ...best.slice(at + 1)])
    shorter = best.length < before
  }
  return best
}

/** What is chosen behind the end of a schedule. */
const USUAL = 999

function withoutUsual(choices: Choices): Choices {
  return choices.slice(0, choices.findLastIndex((choice) => choice !== USUAL) + 1)
}
