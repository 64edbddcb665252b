/** Below this many times the least free space, the doctor and the pages warn. */
export const scarceFactor = 2
