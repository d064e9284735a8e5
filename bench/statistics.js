/** @param {readonly number[]} values @param {number} share 0.5 for the median */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)];
  const above = sorted[Math.ceil(at)];
  return below + (above - below) * (at - Math.floor(at));
}

/** @param {readonly number[]} values */
export function median(values) {
  return quantile(values, 0.5);
}
