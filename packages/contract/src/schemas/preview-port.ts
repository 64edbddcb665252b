/** A preview shows this port by default. */
export const previewPortDefault = 3000
