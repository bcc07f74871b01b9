import type { Answers, Asked, Said } from './bench-process.js'

/** Does what the bench asks of this process, until the bench ends. */
export function answerOrders(offered: Answers): void {
  const say = (said: Said): void => void process.send?.(said)
  process.on('message', ({ name, given }: Asked) => {
    Promise.resolve(given)
      .then((value) => offered[name]?.(value as never))
      .then(
        (answer) => say({ answer }),
        (error: unknown) => say({ problem: String(error) }),
      )
  })
  process.on('disconnect', () => process.exit())
  say({ answer: 'ready' })
}
