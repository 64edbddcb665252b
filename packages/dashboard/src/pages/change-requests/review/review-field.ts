/** The id of the field for the summary of a review, and the part of an address that leads to it. */
export const reviewField = 'review'
