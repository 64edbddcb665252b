/** The port of a preview when nobody names one. */
export const previewPortDefault = 3000
