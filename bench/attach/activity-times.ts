import type { ActivityInterceptorsFactory } from '@temporalio/worker'

/** How long each run of an activity took, in milliseconds: from our interceptor in, to our interceptor out. */
export interface ActivityTimes {
  readonly interceptor: ActivityInterceptorsFactory
  /** The times since the last call. */
  take(): readonly number[]
}

export function activityTimes(activityType: string): ActivityTimes {
  let times: number[] = []
  return {
    interceptor: ({ info }) => ({
      inbound: {
        async execute(input, next) {
          const from = performance.now()
          try {
            return await next(input)
          } finally {
            if (info.activityType === activityType) times.push(performance.now() - from)
          }
        },
      },
    }),
    take() {
      const taken = times
      times = []
      return taken
    },
  }
}
